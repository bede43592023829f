import '../../../ui/card-table.css';
import { useEffect, useState } from 'preact/hooks';
import { beginDrill, type Drill, getLocation, listDrills } from '../../../api.js';
import { useConsole } from '../../../console-parts.js';
import { dateTime, number, t } from '../../../language.js';
import { hrefTo } from '../../../place.js';
import { FailureText } from '../../../ui/bits.js';
import { ChangeDialog } from '../../../ui/change-dialog.js';
import { useLoaded } from '../../../ui/load.js';

const beginText = () => t('Start a drill', 'Probealarm auslösen');

const stateNames = () => ({
  running: t('running', 'läuft'),
  passed: t('passed', 'bestanden'),
  failed: t('failed', 'nicht bestanden'),
});

/** While a drill runs, each acknowledgement should appear soon. */
const READ_AGAIN_MS = 1_000;
/** The same as for alarms: red for what needs attention, green for what is fine. */
const BADGES = { running: '', passed: 'acknowledged', failed: 'raised' } as const;

/** The drills of a home, and the button that starts one. */
export function DrillsPage({ locationId }: { readonly locationId: string }) {
  const { session } = useConsole();
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
        <a href={hrefTo(`/home/${locationId}`)}>{home?.name ?? t('Home', 'Heim')}</a>
      </p>
      <h1>{t('Drills', 'Probealarme')}</h1>
      <p class="hint">
        {t(
          'A drill raises a test alarm that takes the way of every alarm, and shows which nurse call, bridge or webhook acknowledges it within 60 s.',
          'Ein Probealarm nimmt den Weg jedes Alarms und zeigt, welche Rufanlage, welche Brücke und welcher Webhook ihn innerhalb von 60 s quittiert.',
        )}
      </p>
      {session.may('manager', locationId, null) && (
        <button type="button" class="primary" onClick={() => setAsking(true)}>
          {beginText()}
        </button>
      )}
      <p role="status" class="home-said">
        {said}
      </p>
      <FailureText failure={failure} onRetry={again} />
      {drills !== undefined && <DrillTable drills={drills} />}
      {isAsking && (
        <ChangeDialog
          title={t(
            `Start a drill in ${home?.name ?? ''}`,
            `Probealarm auslösen: ${home?.name ?? ''}`,
          )}
          submit={beginText()}
          request={() => beginDrill({ locationId })}
          onDone={() => {
            setAsking(false);
            setSaid(t('The drill has begun.', 'Der Probealarm ist ausgelöst.'));
            again();
          }}
          onClose={() => setAsking(false)}
        >
          <p>
            {t(
              'A help call, marked as a test, goes to everybody who receives alarms of this home.',
              'Ein Hilferuf, als Test gekennzeichnet, geht an alle, die Alarme dieses Heims empfangen.',
            )}
          </p>
        </ChangeDialog>
      )}
    </>
  );
}

function DrillTable({ drills }: { readonly drills: readonly Drill[] }) {
  if (drills.length === 0)
    return <p>{t('There has been no drill yet.', 'Es gab noch keinen Probealarm.')}</p>;
  return (
    <table class="home-drills card-table">
      <thead>
        <tr>
          <th scope="col">{t('When', 'Wann')}</th>
          <th scope="col">{t('Result', 'Ergebnis')}</th>
          <th scope="col">{t('Destinations', 'Ziele')}</th>
          <th scope="col">{t('Silent sensors', 'Verstummte Sensoren')}</th>
          <th scope="col">{t('Started by', 'Ausgelöst von')}</th>
        </tr>
      </thead>
      <tbody>
        {drills.map((drill) => (
          <tr key={drill.id}>
            <td data-label={t('When', 'Wann')}>{dateTime(drill.at)}</td>
            <td data-label={t('Result', 'Ergebnis')}>
              <span class={`badge ${BADGES[drill.state]}`}>{stateNames()[drill.state]}</span>
            </td>
            <td data-label={t('Destinations', 'Ziele')}>
              <Destinations drill={drill} />
            </td>
            <td data-label={t('Silent sensors', 'Verstummte Sensoren')}>
              {drill.silent.map(({ name }) => name).join(', ') || t('none', 'keine')}
            </td>
            <td data-label={t('Started by', 'Ausgelöst von')}>
              {drill.by?.name ?? t('schedule', 'Zeitplan')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Destinations({ drill: { state, destinations } }: { readonly drill: Drill }) {
  if (destinations.length === 0)
    return (
      <>
        {t(
          'no nurse call, bridge or webhook receives alarms',
          'keine Rufanlage, keine Brücke, kein Webhook empfängt Alarme',
        )}
      </>
    );
  const unacknowledged =
    state === 'running'
      ? t('not acknowledged yet', 'noch nicht quittiert')
      : t('not acknowledged', 'nicht quittiert');
  return (
    <ul class="home-drill-destinations">
      {destinations.map(({ destination: { type, id, name }, acknowledgedAfterMs }) => (
        <li key={`${type}/${id}`}>
          {name}
          {type === 'session' && ` (${id})`}:{' '}
          {acknowledgedAfterMs === null
            ? unacknowledged
            : t(
                `after ${number(acknowledgedAfterMs)} ms`,
                `nach ${number(acknowledgedAfterMs)} ms`,
              )}
        </li>
      ))}
    </ul>
  );
}
