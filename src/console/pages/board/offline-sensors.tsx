import { useEffect } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';
import { presenceNow, useHome } from '../../home/home.js';
import { t } from '../../language.js';
import { hrefTo } from '../../place.js';
import { andMore } from './alarms/alarm-title.js';

/** No message reports that a device or a room was created, renamed or deleted. */
const READ_AGAIN_MS = 5 * 60 * 1000;
const RETRY_MS = 10_000;
const MAX_NAMED = 6;

interface OfflineSensorsProps {
  readonly locationId: string;
  /** Whether alarms of several homes are shown. */
  readonly hasHome: boolean;
  readonly isKiosk: boolean;
}

/** The offline sensors of a home, by name and room: no alarm can come from them. */
export function OfflineSensors({ locationId, hasHome, isKiosk }: OfflineSensorsProps) {
  const { session } = useConsole();
  const { data: home, failure, again } = useHome(locationId);
  useEffect(() => {
    const timer = setInterval(again, failure === undefined ? READ_AGAIN_MS : RETRY_MS);
    return () => clearInterval(timer);
  }, [again, failure]);
  if (home === undefined) {
    return failure === undefined ? null : (
      <p class="board-offline">
        {t(
          'Which sensors are offline is not known at the moment.',
          'Welche Sensoren offline sind, ist zurzeit nicht bekannt.',
        )}
      </p>
    );
  }
  // A sensor that was never heard is not mounted yet.
  const mounted = home.devices.filter((device) => presenceNow(device).state !== 'never');
  const offline = mounted.filter((device) => presenceNow(device).state === 'offline');
  if (offline.length === 0) return null;
  const rooms = new Map(home.rooms.map(({ id, name }) => [id, name]));
  const names = offline.slice(0, MAX_NAMED).map(({ name, roomId }) => {
    const room = roomId === null ? undefined : rooms.get(roomId);
    return room === undefined ? name : `${name} (${room})`;
  });
  const left = offline.length - names.length;
  const prefix = hasHome ? `${home.location.name}: ` : '';
  const isAll = offline.length === mounted.length;
  // With rights over groups only, she does not see the sensors of the others.
  const isWhole = session.may('viewer', locationId, null);
  const where = isWhole ? home.location.name : home.groups.map(({ name }) => name).join(', ');
  return (
    <p class={isAll ? 'board-offline all' : 'board-offline'}>
      <strong>
        {isAll
          ? t(
              `All sensors of ${where} are offline. No alarm can come from them.`,
              `Alle Sensoren von ${where} sind offline. Von ihnen kann kein Alarm kommen.`,
            )
          : `${prefix}${offlineText(offline.length)}:`}
      </strong>{' '}
      {names.join(', ')}
      {left > 0 && ` ${andMore(left)}`}{' '}
      {!isKiosk && (
        <a href={hrefTo(`/home/${locationId}`)}>{t('Show the home', 'Heim anzeigen')}</a>
      )}
    </p>
  );
}

function offlineText(count: number): string {
  return count === 1
    ? t('1 sensor is offline', '1 Sensor ist offline')
    : t(`${count} sensors are offline`, `${count} Sensoren sind offline`);
}
