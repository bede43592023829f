import type { Device } from '../../api.js';
import { t } from '../../language.js';
import { TimeAgo } from '../../ui/bits.js';
import type { Presence } from './presence.js';

interface OnlineStateProps {
  readonly device: Device;
  readonly presence: Presence;
}

/** Whether a device is online and, if not, since when; kept up to date. */
export function OnlineState({ device, presence }: OnlineStateProps) {
  const status = presence.of(device.id).value;
  const through = device.via && ` · ${t(`through ${device.via.name}`, `über ${device.via.name}`)}`;
  if (status?.online ?? device.online) {
    return (
      <span class="home-state dot good">
        {t('Online', 'Verbunden')}
        {through}
      </span>
    );
  }
  const since = status?.since ?? device.lastSeenAt;
  return (
    <span class="home-state dot">
      {since === null ? (
        t('Never connected', 'Noch nie verbunden')
      ) : (
        <>
          {t('Offline', 'Ohne Verbindung')} · <TimeAgo at={since} />
          {through}
        </>
      )}
    </span>
  );
}

/** Whether the device is online now, by the newest information. */
export function isOnline(device: Device, presence: Presence): boolean {
  return presence.of(device.id).value?.online ?? device.online;
}
