/**
 * What the lists of this page refer to, by its name: the homes, to choose one, and devices and tokens.
 *
 * The gateway's answers have the present names. What has none any more is called deleted, with its id.
 */

import { useMemo } from 'preact/hooks';
import { type Location, listLocations } from '../api.js';
import { language, t } from '../language.js';
import { hrefTo } from '../place.js';
import { FailureText } from '../ui/bits.js';
import { Choice, type Option } from '../ui/fields.js';
import { type Loaded, useLoaded } from '../ui/load.js';

/** The homes, and in which of them a device is. */
export interface Homes {
  readonly loaded: Loaded<Location[]>;
  readonly nameOf: (locationId: string) => string | undefined;
  readonly homeOf: (deviceId: string) => string | undefined;
}

export function useHomes(): Homes {
  const loaded = useLoaded(listLocations, []);
  return useMemo(() => {
    const homes = loaded.data ?? [];
    const names = new Map(homes.map(({ id, name }) => [id, name]));
    const places = new Map(homes.flatMap(({ id, devices }) => devices.map((one) => [one, id])));
    return { loaded, nameOf: (id) => names.get(id), homeOf: (id) => places.get(id) };
  }, [loaded.data, loaded.failure]);
}

interface HomeChoiceProps {
  readonly homes: Homes;
  /** The id of a home; empty for none. */
  readonly value: string;
  /** What no home means. */
  readonly none: string;
  readonly onChange: (locationId: string) => void;
}

/** Chooses a home. */
export function HomeChoice({ homes: { loaded }, value, none, onChange }: HomeChoiceProps) {
  const options = (loaded.data ?? []).map(({ id, name }): Option<string> => [id, name]);
  options.sort(([, one], [, other]) => one.localeCompare(other, language.value));
  return (
    <>
      <Choice
        label={t('Home', 'Heim')}
        value={value}
        options={[['', none], ...options]}
        onChange={onChange}
      />
      <FailureText failure={loaded.failure} onRetry={loaded.again} />
    </>
  );
}

/** The page of a home, a room or a group, or of a device in it. */
export function homeHref(locationId: string, deviceId?: string): string {
  const home = `/home/${locationId}`;
  return hrefTo(deviceId === undefined ? home : `${home}/devices/${deviceId}`);
}

/** The name of a home. */
export function HomeName({ id, homes }: { readonly id: string; readonly homes: Homes }) {
  if (homes.loaded.data === undefined) return <code>{id}</code>;
  const name = homes.nameOf(id);
  return name === undefined ? <Deleted id={id} /> : name;
}

interface DeviceNameProps {
  readonly id: string;
  /** Null if there is no such device any more. */
  readonly name: string | null;
  readonly homes: Homes;
}

/** A device by its name, which leads to its page. */
export function DeviceName({ id, name, homes }: DeviceNameProps) {
  if (name === null) return <Deleted id={id} />;
  const locationId = homes.homeOf(id);
  return locationId === undefined ? name : <a href={homeHref(locationId, id)}>{name}</a>;
}

/** For what has no name any more; the name that it had, if a record tells it. */
export function Deleted({ id, name }: { readonly id: string; readonly name?: string }) {
  return (
    <>
      {name} <span class="hint">{t('deleted', 'gelöscht')}</span> <code>{id}</code>
    </>
  );
}

const ADMIN_ID = 'admin';

interface PrincipalNameProps extends DeviceNameProps {
  readonly type: 'access-token' | 'device';
}

/** A device, with its home, or an access token. */
export function PrincipalName({ type, id, name, homes }: PrincipalNameProps) {
  if (id === ADMIN_ID) return <>{t('Administrator (admin.token)', 'Verwaltung (admin.token)')}</>;
  if (type === 'device') {
    const home = homes.nameOf(homes.homeOf(id) ?? '');
    return (
      <>
        {t('Device', 'Gerät')} <DeviceName id={id} name={name} homes={homes} />
        {home !== undefined && <span class="hint">, {home}</span>}
      </>
    );
  }
  return (
    <>
      {t('Access token', 'Zugangstoken')} {name ?? <Deleted id={id} />}
    </>
  );
}

const MAX_CHARACTERS = 300;

/** The beginning of what a message contains, as text; invalid UTF-8 shows as U+FFFD. */
export function Payload({ base64 }: { readonly base64: string }) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const text = new TextDecoder().decode(bytes);
  return (
    <code class="gateway-payload">
      {text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)} …` : text}
    </code>
  );
}
