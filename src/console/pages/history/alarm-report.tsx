import { type Alarm, getAlarm, getLocation, type Location } from '../../api.js';
import { useConsole } from '../../console-parts.js';
import { kindName, kindOf } from '../../kinds.js';
import { dateTime, t } from '../../language.js';
import { FailureText } from '../../ui/bits.js';
import { useLoaded } from '../../ui/load.js';
import { AlarmDetails } from './alarm-details.js';
import { stateNames } from './alarm-states.js';

/** One alarm on its own page, to print for the file of an incident. */
export function AlarmReport() {
  const { routing } = useConsole();
  const { query } = routing.place.value;
  const locationId = query.get('location') ?? '';
  const alarmId = query.get('alarm') ?? '';
  const device = query.get('device') ?? '';
  const { data, failure, again } = useLoaded(
    () =>
      Promise.all([
        getAlarm({ locationId, alarmId }, { device, footage: 'list' }),
        getLocation({ locationId }),
      ]),
    [locationId, alarmId, device],
  );
  const [alarm, home] = data ?? [];
  return (
    <article class="history-report">
      <h1>{t('Alarm report', 'Alarmbericht')}</h1>
      <FailureText failure={failure} onRetry={again} />
      {alarm !== undefined && home !== undefined && <Report alarm={alarm} home={home} />}
    </article>
  );
}

interface ReportProps {
  readonly alarm: Alarm;
  readonly home: Location;
}

function Report({ alarm, home }: ReportProps) {
  const kind = kindOf(alarm.kind);
  const now = dateTime(new Date().toISOString());
  return (
    <>
      <button type="button" class="history-noprint" onClick={() => print()}>
        {t('Print', 'Drucken')}
      </button>
      <table class="history-facts">
        <tbody>
          <Fact name={t('Kind', 'Art')} text={kind === undefined ? alarm.kind : kindName(kind)} />
          <Fact name={t('State', 'Stand')} text={stateNames()[alarm.state]} />
          {alarm.test === true && (
            <Fact
              name={t('Test', 'Test')}
              text={t('This was a test or a drill.', 'Das war ein Test oder ein Probealarm.')}
            />
          )}
          <Fact name={t('Detected', 'Erkannt')} text={dateTime(alarm.detectedAt)} />
          <Fact name={t('Home', 'Heim')} text={home.name} />
          <Fact name={t('Room', 'Zimmer')} text={alarm.room?.name ?? '–'} />
          <Fact name={t('Device', 'Gerät')} text={`${alarm.device.name} (${alarm.device.id})`} />
        </tbody>
      </table>
      <AlarmDetails alarm={alarm} locationId={home.id} shown="details" />
      <p class="hint">{t(`As of ${now}.`, `Stand: ${now}.`)}</p>
    </>
  );
}

function Fact({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{text}</td>
    </tr>
  );
}
