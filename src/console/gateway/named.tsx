/**
 * What the lists of this page refer to, by its name: the homes, to choose one, and devices and tokens.
 *
 * The gateway's answers have the present names. What has none any more is called deleted, with its id.
 */

import { computed, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { type Location, listLocations } from '../api.js';
import { language, t } from '../language.js';
import { hrefTo } from '../place.js';
import { Choice } from '../ui/fields.js';
import { type Loaded, useLoaded } from '../ui/load.js';

const homes = signal<readonly Location[] | undefined>(undefined);
const names = computed(() => new Map(homes.value?.map(({ id, name }) => [id, name])));
const places = computed(
  () =>
    new Map(homes.value?.flatMap(({ id, devices }) => devices.map((one) => [one, id] as const))),
);

/** Reads the homes for all parts of this page. */
export function useHomes(path: string): Loaded<Location[]> {
  const loaded = useLoaded(listLocations, [path]);
  useEffect(() => {
    homes.value = loaded.data ?? homes.peek();
  }, [loaded.data]);
  return loaded;
}

/** The homes by their names; undefined until they are read. */
export function knownHomes(): ReadonlyMap<string, string> | undefined {
  return homes.value && names.value;
}

/** The home in which a device is. */
export function homeOf(deviceId: string): string | undefined {
  return places.value.get(deviceId);
}

interface HomeChoiceProps {
  /** The id of a home; empty for none. */
  readonly value: string;
  /** What no home means. */
  readonly none: string;
  readonly onChange: (locationId: string) => void;
}

/** Chooses a home. */
export function HomeChoice({ value, none, onChange }: HomeChoiceProps) {
  const options = [...names.value].sort(([, one], [, other]) =>
    one.localeCompare(other, language.value),
  );
  return (
    <Choice
      label={t('Home', 'Heim')}
      value={value}
      options={[['', none], ...options]}
      onChange={onChange}
    />
  );
}

/** The page of a home, a room or a group, or of a device in it. */
export function homeHref(locationId: string, deviceId?: string): string {
  const home = `/home/${locationId}`;
  return hrefTo(deviceId === undefined ? home : `${home}/devices/${deviceId}`);
}

/** The name of a home. */
export function HomeName({ id }: { readonly id: string }) {
  if (homes.value === undefined) return <code>{id}</code>;
  const name = names.value.get(id);
  return name === undefined ? <Deleted id={id} /> : name;
}

interface DeviceNameProps {
  readonly id: string;
  /** Null if there is no such device any more. */
  readonly name: string | null;
}

/** A device by its name, which leads to its page. */
export function DeviceName({ id, name }: DeviceNameProps) {
  if (name === null) return <Deleted id={id} />;
  const locationId = homeOf(id);
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
export function PrincipalName({ type, id, name }: PrincipalNameProps) {
  if (id === ADMIN_ID) return <>{t('Administrator (admin.token)', 'Verwaltung (admin.token)')}</>;
  if (type === 'device') {
    const home = names.value.get(homeOf(id) ?? '');
    return (
      <>
        {t('Device', 'Gerät')} <DeviceName id={id} name={name} />
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
