import '../../../ui/card-table.css';
import { useEffect, useState } from 'preact/hooks';
import { beginDrill, type Drill, getLocation, listDrills } from '../../../api.js';
import { useConsole, useWords } from '../../../console-parts.js';
import { hrefTo } from '../../../routing.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { FailureText } from '../../../ui/failure-text.js';
import { useNumber } from '../../../ui/numbers.js';
import { dateTime } from '../../../ui/time-ago.js';
import { useLoaded } from '../../../ui/use-request.js';
import { HOME_WORDS } from '../home-words.js';
import { DRILLS_WORDS } from './drills-words.js';

/** While a drill runs, each acknowledgement should appear soon. */
const READ_AGAIN_MS = 1_000;
/** The same as for alarms: red for what needs attention, green for what is fine. */
const BADGES = { running: '', passed: 'acknowledged', failed: 'raised' } as const;

/** The drills of a home, and the button that starts one. */
export function DrillsPage({ locationId }: { readonly locationId: string }) {
  const { session } = useConsole();
  const words = useWords(DRILLS_WORDS);
  const common = useWords(HOME_WORDS);
  const { data: home } = useLoaded(() => getLocation({ locationId }), [locationId]);
  const {
    data: drills,
    failure,
    again,
  } = useLoaded(() => listDrills({ locationId }), [locationId]);
  const [isAsking, setAsking] = useState(false);
  const [said, setSaid] = useState('');
  const isRunning = drills?.some(({ state }) => state === 'running') ?? false;
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(again, READ_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isRunning, again]);
  return (
    <>
      <p>
        <a href={hrefTo(`/home/${locationId}`)}>{home?.name ?? common.home}</a>
      </p>
      <h1>{words.title}</h1>
      <p class="hint">{words.hint}</p>
      {session.may('manager', locationId, null) && (
        <button type="button" class="primary" onClick={() => setAsking(true)}>
          {words.begin}
        </button>
      )}
      <p role="status" class="home-said">
        {said}
      </p>
      <FailureText failure={failure} onRetry={again} />
      {drills !== undefined && <DrillTable drills={drills} />}
      {isAsking && (
        <ChangeDialog
          title={words.beginTitle(home?.name ?? '')}
          submit={words.begin}
          request={() => beginDrill({ locationId })}
          onDone={() => {
            setAsking(false);
            setSaid(words.begun);
            again();
          }}
          onClose={() => setAsking(false)}
        >
          <p>{words.beginAsk}</p>
        </ChangeDialog>
      )}
    </>
  );
}

function DrillTable({ drills }: { readonly drills: readonly Drill[] }) {
  const { language } = useConsole();
  const words = useWords(DRILLS_WORDS);
  if (drills.length === 0) return <p>{words.none}</p>;
  return (
    <table class="home-drills card-table">
      <thead>
        <tr>
          <th scope="col">{words.at}</th>
          <th scope="col">{words.result}</th>
          <th scope="col">{words.destinations}</th>
          <th scope="col">{words.silent}</th>
          <th scope="col">{words.by}</th>
        </tr>
      </thead>
      <tbody>
        {drills.map((drill) => (
          <tr key={drill.id}>
            <td data-label={words.at}>{dateTime(drill.at, language.current.value)}</td>
            <td data-label={words.result}>
              <span class={`badge ${BADGES[drill.state]}`}>{words.states[drill.state]}</span>
            </td>
            <td data-label={words.destinations}>
              <Destinations drill={drill} />
            </td>
            <td data-label={words.silent}>
              {drill.silent.map(({ name }) => name).join(', ') || words.noSilent}
            </td>
            <td data-label={words.by}>{drill.by?.name ?? words.schedule}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Destinations({ drill: { state, destinations } }: { readonly drill: Drill }) {
  const words = useWords(DRILLS_WORDS);
  const number = useNumber();
  if (destinations.length === 0) return <>{words.noDestinations}</>;
  const unacknowledged = state === 'running' ? words.awaited : words.notAcknowledged;
  return (
    <ul class="home-drill-destinations">
      {destinations.map(({ destination: { type, id, name }, acknowledgedAfterMs }) => (
        <li key={`${type}/${id}`}>
          {name}
          {type === 'session' && ` (${id})`}:{' '}
          {acknowledgedAfterMs === null
            ? unacknowledged
            : words.afterMs(number(acknowledgedAfterMs))}
        </li>
      ))}
    </ul>
  );
}
