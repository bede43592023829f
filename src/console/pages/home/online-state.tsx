import type { Device } from '../../api.js';
import { useWords } from '../../console-parts.js';
import { TimeAgo } from '../../ui/time-ago.js';
import { HOME_WORDS } from './home-words.js';
import type { Presence } from './presence.js';

interface OnlineStateProps {
  readonly device: Device;
  readonly presence: Presence;
}

/** Whether a device is online and, if not, since when; kept up to date. */
export function OnlineState({ device, presence }: OnlineStateProps) {
  const words = useWords(HOME_WORDS);
  const status = presence.of(device.id).value;
  const through = device.via && ` · ${words.through(device.via.name)}`;
  if (status?.online ?? device.online) {
    return (
      <span class="home-state dot good">
        {words.online}
        {through}
      </span>
    );
  }
  const since = status?.since ?? device.lastSeenAt;
  return (
    <span class="home-state dot">
      {since === null ? (
        words.neverOnline
      ) : (
        <>
          {words.offline} · <TimeAgo at={since} />
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
