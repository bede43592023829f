import { KIND_WORDS, kindOf } from '../../alarms/kinds.js';
import { type Alarm, getAlarm, getLocation, type Location } from '../../api.js';
import { useConsole, useWords } from '../../console-parts.js';
import { FailureText } from '../../ui/failure-text.js';
import { dateTime } from '../../ui/time-ago.js';
import { useLoaded } from '../../ui/use-request.js';
import { AlarmDetails } from './alarm-details.js';
import { HISTORY_WORDS } from './history-words.js';

/** One alarm on its own page, to print for the file of an incident. */
export function AlarmReport() {
  const { routing } = useConsole();
  const words = useWords(HISTORY_WORDS);
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
      <h1>{words.report}</h1>
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
  const { language } = useConsole();
  const words = useWords(HISTORY_WORDS);
  const kinds = useWords(KIND_WORDS);
  const kind = kindOf(alarm.kind);
  const time = (at: string) => dateTime(at, language.current.value);
  return (
    <>
      <button type="button" class="history-noprint" onClick={() => print()}>
        {words.print}
      </button>
      <table class="history-facts">
        <tbody>
          <Fact name={words.kind} text={kind === undefined ? alarm.kind : kinds[kind]} />
          <Fact name={words.state} text={words.stateNames[alarm.state]} />
          {alarm.test === true && <Fact name={words.testAlarm} text={words.isTest} />}
          <Fact name={words.detected} text={time(alarm.detectedAt)} />
          <Fact name={words.home} text={home.name} />
          <Fact name={words.place} text={alarm.room?.name ?? '–'} />
          <Fact name={words.device} text={`${alarm.device.name} (${alarm.device.id})`} />
        </tbody>
      </table>
      <AlarmDetails alarm={alarm} locationId={home.id} shown="details" />
      <p class="hint">{words.reportedAt(time(new Date().toISOString()))}</p>
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
