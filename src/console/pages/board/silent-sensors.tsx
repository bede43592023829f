import { useEffect } from 'preact/hooks';
import { listSilentDevices } from '../../api.js';
import { useConsole } from '../../console-parts.js';
import { t } from '../../language.js';
import { useLoaded } from '../../ui/load.js';
import { andMore } from './alarms/alarm-title.js';

/** Its messages tell at once; this finds what was missed. */
const READ_AGAIN_MS = 30_000;
const MAX_NAMED = 6;

interface SilentSensorsProps {
  readonly locationId: string;
}

/** The silent sensors of a home: their alarms might not arrive either. */
export function SilentSensors({ locationId }: SilentSensorsProps) {
  const { live } = useConsole();
  const loaded = useLoaded(() => listSilentDevices({ locationId }), [locationId]);
  const { data: silent, failure, again } = loaded;
  useEffect(() => {
    const message = ({ topic }: { readonly topic: string }) => {
      const [, home, , , level] = topic.split('/');
      if (home === locationId && level === 'supervision') again();
    };
    return live.listen({ message, missed: again });
  }, [live, locationId, again]);
  useEffect(() => {
    const timer = setInterval(again, READ_AGAIN_MS);
    return () => clearInterval(timer);
  }, [again]);
  if (failure !== undefined)
    return (
      <p class="board-offline">
        {t(
          'Which sensors are silent is not known at the moment.',
          'Welche Sensoren verstummt sind, ist zurzeit nicht bekannt.',
        )}
      </p>
    );
  if (silent === undefined || silent.length === 0) return null;
  const names = silent
    .slice(0, MAX_NAMED)
    .map(({ device, room }) => (room === null ? device.name : `${device.name} (${room.name})`));
  const left = silent.length - names.length;
  return (
    <p class="board-offline all" role="status">
      <strong>
        {silent.length === 1
          ? t('Nothing comes from 1 sensor any more:', 'Von 1 Sensor kommt nichts mehr:')
          : t(
              `Nothing comes from ${silent.length} sensors any more:`,
              `Von ${silent.length} Sensoren kommt nichts mehr:`,
            )}
      </strong>{' '}
      {names.join(', ')}
      {left > 0 && ` ${andMore(left)}`}
    </p>
  );
}
