import { type ReadonlySignal, signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { listAccessTokens, listDevices, listLocations } from '../../api.js';
import { t } from '../../language.js';

type NamesById = ReadonlyMap<string, string>;

const NONE: NamesById = new Map();
const ADMIN_ID = 'admin';

/**
 * The names behind ids.
 *
 * Devices are read home by home, when a device of that home is shown: all homes together may have 15,000. If a
 * name cannot be read, the id is shown.
 */
export class Names {
  readonly #tokens = signal(NONE);
  readonly #locations = signal(NONE);
  readonly #devices = signal(NONE);
  readonly #locationOf = signal(NONE);
  readonly #asked = new Set<string>();
  readonly tokens: ReadonlySignal<NamesById> = this.#tokens;
  readonly locations: ReadonlySignal<NamesById> = this.#locations;
  readonly devices: ReadonlySignal<NamesById> = this.#devices;
  /** The home of a device. */
  readonly locationOf: ReadonlySignal<NamesById> = this.#locationOf;

  /** Reads the names of homes and access tokens. */
  load(): void {
    listAccessTokens().then(
      (tokens) => {
        this.#tokens.value = new Map(tokens.map(({ id, name }) => [id, name]));
      },
      () => undefined,
    );
    listLocations().then(
      (locations) => {
        this.#locations.value = new Map(locations.map(({ id, name }) => [id, name]));
        this.#locationOf.value = new Map(
          locations.flatMap(({ id, devices }) => devices.map((device) => [device, id] as const)),
        );
      },
      () => undefined,
    );
  }

  /** Reads the names of this home's devices, once. */
  wantDevicesOf(locationId: string): void {
    if (this.#asked.has(locationId)) return;
    this.#asked.add(locationId);
    listDevices({ locationId }).then(
      (devices) => {
        const read = devices.map(({ id, name }) => [id, name] as const);
        this.#devices.value = new Map([...this.#devices.value, ...read]);
      },
      () => this.#asked.delete(locationId),
    );
  }
}

export const NamesContext = createContext(new Names());

export function useNames(): Names {
  return useContext(NamesContext);
}

interface PrincipalNameProps {
  readonly type: 'access-token' | 'device';
  readonly id: string;
}

/** A device or access token by its name, with its home. */
export function PrincipalName({ type, id }: PrincipalNameProps) {
  const names = useNames();
  const locationId = type === 'device' ? names.locationOf.value.get(id) : undefined;
  useEffect(() => {
    if (locationId !== undefined) names.wantDevicesOf(locationId);
  }, [names, locationId]);
  if (id === ADMIN_ID) return <>{t('Administrator (admin.token)', 'Verwaltung (admin.token)')}</>;
  const kind = type === 'device' ? t('Device', 'Gerät') : t('Access token', 'Zugangstoken');
  const name = (type === 'device' ? names.devices : names.tokens).value.get(id);
  const home = locationId === undefined ? undefined : names.locations.value.get(locationId);
  return (
    <span title={id}>
      {kind} {name ?? <code class="gateway-id">{id}</code>}
      {home !== undefined && <span class="hint">, {home}</span>}
    </span>
  );
}

/** A home by its name. */
export function LocationName({ id }: { readonly id: string }) {
  const name = useNames().locations.value.get(id);
  return <span title={id}>{name ?? <code class="gateway-id">{id}</code>}</span>;
}
