import { type Alarm, listAlarmDeliveries } from '../../api.js';
import { dateTime, t } from '../../language.js';
import { FailureText } from '../../ui/bits.js';
import { useLoaded } from '../../ui/load.js';

const deliveryStates = () => ({
  queued: t('not delivered yet, waiting since', 'noch nicht zugestellt, wartet seit'),
  delivered: t('delivered', 'zugestellt'),
  expired: t('not in time, given up', 'nicht rechtzeitig, aufgegeben'),
  dropped: t('not delivered, left out', 'nicht zugestellt, ausgelassen'),
});

interface AlarmDeliveriesProps {
  readonly alarm: Alarm;
  readonly locationId: string;
}

/** Which nurse call, bridge or webhook received the alarm and when: the proof if anyone asks. */
export function AlarmDeliveries({ alarm, locationId }: AlarmDeliveriesProps) {
  const { id: alarmId, deviceId: device } = alarm;
  const { data, failure, again } = useLoaded(
    () => listAlarmDeliveries({ locationId, alarmId }, { device }),
    [locationId, alarmId, device],
  );
  if (failure !== undefined) return <FailureText failure={failure} onRetry={again} />;
  if (data === undefined) return <span role="status">…</span>;
  if (data.deliveries.length === 0)
    return (
      <span class="hint">
        {t(
          'Nobody with a queue: no nurse-call system with a session, no bridge, no webhook.',
          'Niemand mit einer Warteschlange: keine Rufanlage mit Sitzung, keine Brücke, kein Webhook.',
        )}
      </span>
    );
  return (
    <ul class="history-deliveries">
      {data.deliveries.map(({ destination: { type, id, name }, state, at }) => (
        <li key={`${type}/${name}/${id}/${state}`}>
          {name}
          {type === 'session' && ` (${id})`}: {deliveryStates()[state]}, {dateTime(at)}
        </li>
      ))}
    </ul>
  );
}
