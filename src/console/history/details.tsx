/**
 * Everything about an alarm: below its row in the list, and as a report on a page of its own, to print for the file of
 * an incident. Part of it is who received it and when: the proof if anyone asks.
 */

import {
  type Alarm,
  type AlarmDeliveries,
  getAlarm,
  getLocation,
  listAlarmDeliveries,
} from '../api.js';
import { kindName, kindOf } from '../kinds.js';
import { dateTime, t } from '../language.js';
import { hrefTo, place } from '../place.js';
import { exactJson } from '../request.js';
import { type Fact, Facts, FailureText } from '../ui/bits.js';
import { useLoaded } from '../ui/load.js';

/** Its query names location, alarm and device. */
export const REPORT_PATH = '/history/alarm';

export const stateNames = () => ({
  raised: t('Raised', 'Ausgelöst'),
  acknowledged: t('Acknowledged', 'Quittiert'),
  resolved: t('Resolved', 'Erledigt'),
});

/** The name of a kind; one that only a newer gateway knows is named as there. */
export function nameOfKind(kind: string): string {
  const known = kindOf(kind);
  return known === undefined ? kind : kindName(known);
}

interface OfAlarm {
  readonly alarm: Alarm;
  readonly locationId: string;
}

/** What does not fit in the row of an alarm. */
export function AlarmDetails({ alarm, locationId }: OfAlarm) {
  const query = { location: locationId, alarm: alarm.id, device: alarm.deviceId };
  return (
    <div class="history-details">
      <Facts of={detailsOf({ alarm, locationId })} />
      <a href={hrefTo(REPORT_PATH, query)}>{t('Alarm report', 'Alarmbericht')}</a>
    </div>
  );
}

/** One alarm on its own page. */
export function AlarmReport() {
  const { query } = place.value;
  const locationId = query.get('location') ?? '';
  const alarmId = query.get('alarm') ?? '';
  const device = query.get('device') ?? '';
  const { data, isPending, failure, again } = useLoaded(
    () =>
      Promise.all([
        getAlarm({ locationId, alarmId }, { device, footage: 'list' }),
        getLocation({ locationId }),
      ]),
    [locationId, alarmId, device],
  );
  const [alarm, home] = data ?? [];
  const now = dateTime(new Date().toISOString());
  return (
    <article class="history-report">
      <h1>{t('Alarm report', 'Alarmbericht')}</h1>
      <FailureText failure={failure} onRetry={again} />
      {isPending && data === undefined && <p role="status">{t('Loading …', 'Wird geladen …')}</p>}
      {alarm !== undefined && home !== undefined && (
        <>
          <button type="button" onClick={() => print()}>
            {t('Print', 'Drucken')}
          </button>
          <Facts of={[...headOf(alarm, home.name), ...detailsOf({ alarm, locationId })]} />
          <p class="hint">{t(`As of ${now}.`, `Stand: ${now}.`)}</p>
        </>
      )}
    </article>
  );
}

/** What the row of an alarm has. */
function headOf(alarm: Alarm, homeName: string): readonly Fact[] {
  const { kind, state, test, detectedAt, room, group, device } = alarm;
  return [
    [t('Kind', 'Art'), nameOfKind(kind)],
    [t('State', 'Stand'), stateNames()[state]],
    [
      t('Test', 'Test'),
      test && t('This was a test or a drill.', 'Das war ein Test oder ein Probealarm.'),
    ],
    [t('Home', 'Heim'), homeName],
    [t('Group', 'Gruppe'), group?.name],
    [t('Room', 'Zimmer'), room?.name],
    [t('Device', 'Gerät'), `${device.name} (${device.id})`],
    [t('Detected', 'Erkannt'), dateTime(detectedAt)],
  ];
}

function detailsOf({ alarm, locationId }: OfAlarm): readonly Fact[] {
  const { receivedAt, note, customData, data, base64, id } = alarm;
  const { acknowledgedBy, acknowledgedAt, resolvedBy, resolvedAt } = alarm;
  return [
    [t('Received', 'Empfangen'), dateTime(receivedAt)],
    [t('Acknowledged by', 'Quittiert von'), step(acknowledgedBy, acknowledgedAt)],
    [t('Resolved by', 'Erledigt von'), step(resolvedBy, resolvedAt)],
    [t('Note', 'Notiz'), note],
    [t('Delivered to', 'Zugestellt an'), <Deliveries alarm={alarm} locationId={locationId} />],
    [t('Custom data', 'Eigene Daten'), <Json value={customData} />],
    [t('Data of the device', 'Daten des Geräts'), <Json value={data} />],
    [t('Payload (base64)', 'Inhalt (base64)'), base64 && <code>{base64}</code>],
    [t('Id of the alarm', 'Kennung des Alarms'), <code>{id}</code>],
  ];
}

function step(by: Alarm['acknowledgedBy'], at: string | undefined): string | undefined {
  return by && at && `${by.name}, ${dateTime(at)}`;
}

function Json({ value }: { readonly value: unknown }) {
  const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  if (isEmpty) return <span class="hint">{t('None', 'Keine')}</span>;
  return <pre class="history-json">{exactJson(value, 2)}</pre>;
}

const deliveryStates = () => ({
  queued: t('not delivered yet, waiting since', 'noch nicht zugestellt, wartet seit'),
  delivered: t('delivered', 'zugestellt'),
  expired: t('not in time, given up', 'nicht rechtzeitig, aufgegeben'),
  dropped: t('not delivered, left out', 'nicht zugestellt, ausgelassen'),
});

/** Which nurse call, bridge or webhook received the alarm, and when. */
function Deliveries({ alarm, locationId }: OfAlarm) {
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
          'Nobody: no nurse-call system, bridge or webhook was set up for it.',
          'Niemanden: Dafür war keine Rufanlage, keine Brücke und kein Webhook eingerichtet.',
        )}
      </span>
    );
  return (
    <ul class="plain">
      {data.deliveries.map((delivery) => (
        <DeliveryLine key={JSON.stringify(delivery)} {...delivery} />
      ))}
    </ul>
  );
}

function DeliveryLine({ destination, state, at }: AlarmDeliveries['deliveries'][number]) {
  const { type, id, name } = destination;
  return (
    <li>
      {name}
      {type === 'session' && ` (${id})`}: {deliveryStates()[state]}, {dateTime(at)}
    </li>
  );
}
