import { type Alarm, listAlarmDeliveries } from '../../api.js';
import { useConsole, useWords } from '../../console-parts.js';
import { FailureText } from '../../ui/failure-text.js';
import { dateTime } from '../../ui/time-ago.js';
import { useLoaded } from '../../ui/use-request.js';
import { HISTORY_WORDS } from './history-words.js';

interface AlarmDeliveriesProps {
  readonly alarm: Alarm;
  readonly locationId: string;
}

/** Which nurse call, bridge or webhook received the alarm and when: the proof if anyone asks. */
export function AlarmDeliveries({ alarm, locationId }: AlarmDeliveriesProps) {
  const { language } = useConsole();
  const words = useWords(HISTORY_WORDS);
  const { id: alarmId, deviceId: device } = alarm;
  const { data, failure, again } = useLoaded(
    () => listAlarmDeliveries({ locationId, alarmId }, { device }),
    [locationId, alarmId, device],
  );
  if (failure !== undefined) return <FailureText failure={failure} onRetry={again} />;
  if (data === undefined) return <span role="status">…</span>;
  if (data.deliveries.length === 0) return <span class="hint">{words.noDestinations}</span>;
  return (
    <ul class="history-deliveries">
      {data.deliveries.map(({ destination: { type, id, name }, state, at }) => (
        <li key={`${type}/${name}/${id}/${state}`}>
          {name}
          {type === 'session' && ` (${id})`}: {words.deliveryStates[state]},{' '}
          {dateTime(at, language.current.value)}
        </li>
      ))}
    </ul>
  );
}
