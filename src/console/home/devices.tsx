/** Devices as rows: the name, whether it is online and when it was last heard, and a button to edit it. */

import { useComputed } from '@preact/signals';
import type { Device } from '../api.js';
import { t } from '../language.js';
import { hrefTo } from '../place.js';
import { TimeAgo } from '../ui/bits.js';
import type { Edited } from './edit.js';
import { useThisHome } from './frame.js';
import { presenceOf, statuses } from './home.js';

export function DeviceRows({ devices }: { readonly devices: readonly Device[] }) {
  if (devices.length === 0) return null;
  return (
    <ul class="plain home-devices">
      {devices.map((device) => (
        <DeviceRow key={device.id} device={device} />
      ))}
    </ul>
  );
}

function DeviceRow({ device }: { readonly device: Device }) {
  const { rights, silent } = useThisHome();
  return (
    <li class="home-device">
      <a href={hrefTo(`/home/${device.locationId}/devices/${device.id}`)}>{device.name}</a>
      <PresenceText device={device} isSilent={silent.has(device.id)} />
      {rights.mayManageDevice(device) && <EditButton edited={{ what: 'device', of: device }} />}
    </li>
  );
}

/** Edits what it stands beside. */
export function EditButton({ edited }: { readonly edited: Edited }) {
  const { edit } = useThisHome();
  const name = edited.of?.name ?? '';
  return (
    <button
      type="button"
      aria-label={t(`Edit ${name}`, `${name} bearbeiten`)}
      onClick={() => edit(edited)}
    >
      {t('Edit', 'Bearbeiten')}
    </button>
  );
}

interface PresenceTextProps {
  readonly device: Device;
  readonly isSilent: boolean;
  /** Whether the times stand elsewhere. */
  readonly isShort?: boolean;
}

/** Whether a device is online and, if not, when it left or was last heard; kept up to date. */
export function PresenceText({ device, isSilent, isShort = false }: PresenceTextProps) {
  // A device that connects draws its own line again, not all three hundred.
  const status = useComputed(() => statuses.value.get(device.id));
  const { state, via, since, lastHeardAt } = presenceOf(device, status.value);
  const heard = lastHeardAt !== undefined && (
    <>
      {' · '}
      {t('last heard', 'zuletzt gehört')} <TimeAgo at={lastHeardAt} />
    </>
  );
  const left = since !== undefined && (
    <>
      {' · '}
      {t('disconnected', 'getrennt')} <TimeAgo at={since} />
    </>
  );
  return (
    <span class="home-state">
      {isSilent && <strong class="badge raised">{t('Silent', 'Verstummt')}</strong>}{' '}
      <span class={state === 'online' ? 'dot good' : 'dot'}>
        {stateText(state, via?.name)}
        {!isShort && (isSilent ? heard : state === 'offline' && (left || heard))}
      </span>
    </span>
  );
}

function stateText(state: 'online' | 'offline' | 'never', via: string | undefined): string {
  if (state === 'never') return t('Never heard', 'Noch nie gehört');
  if (state === 'online') {
    return via === undefined
      ? t('Online', 'Verbunden')
      : t(`Online through ${via}`, `Verbunden über ${via}`);
  }
  return via === undefined
    ? t('Offline', 'Ohne Verbindung')
    : t(`Offline · behind ${via}`, `Ohne Verbindung · hinter ${via}`);
}
