/** The drills of a home, and the button that starts one. */

import { useState } from 'preact/hooks';
import { beginDrill, type Drill, getLocation, listDrills } from '../api.js';
import { dateTime, number, t } from '../language.js';
import { hrefTo } from '../place.js';
import { session } from '../session.js';
import { ChangeDialog, openDialog } from '../ui/dialog.js';
import { List } from '../ui/list.js';
import { useLoaded } from '../ui/load.js';

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

export function DrillsPage({ locationId }: { readonly locationId: string }) {
  const { data: home } = useLoaded(() => getLocation({ locationId }), [locationId]);
  const [isRunning, setRunning] = useState(false);
  const drills = useLoaded(
    async () => {
      const read = await listDrills({ locationId });
      setRunning(read.some(({ state }) => state === 'running'));
      return read;
    },
    [locationId],
    isRunning ? { everyMs: READ_AGAIN_MS } : {},
  );
  const [said, setSaid] = useState('');
  const name = home?.name ?? '';
  const begin = () =>
    openDialog(
      <ChangeDialog
        title={t(`Start a drill in ${name}`, `Probealarm auslösen: ${name}`)}
        submit={beginText()}
        request={() => beginDrill({ locationId })}
        onDone={() => {
          setSaid(t('The drill has begun.', 'Der Probealarm ist ausgelöst.'));
          drills.again();
        }}
      >
        <p>
          {t(
            'A help call, marked as a test, goes to everybody who receives alarms of this home.',
            'Ein Hilferuf, als Test gekennzeichnet, geht an alle, die Alarme dieses Heims empfangen.',
          )}
        </p>
      </ChangeDialog>,
    );
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
        <button type="button" class="primary" onClick={begin}>
          {beginText()}
        </button>
      )}
      <p role="status" class="home-said">
        {said}
      </p>
      <List
        title={t('Drills so far', 'Bisherige Probealarme')}
        loaded={{ ...drills, pause: undefined }}
        rows={drills.data}
        empty={t('There has been no drill yet.', 'Es gab noch keinen Probealarm.')}
        keyOf={({ id }) => id}
        columns={[
          [t('When', 'Wann'), ({ at }) => dateTime(at)],
          [
            t('Result', 'Ergebnis'),
            ({ state }) => <span class={`badge ${BADGES[state]}`}>{stateNames()[state]}</span>,
          ],
          [t('Destinations', 'Ziele'), (drill) => <Destinations drill={drill} />],
          [
            t('Silent sensors', 'Verstummte Sensoren'),
            ({ silent }) => silent.map((one) => one.name).join(', ') || t('none', 'keine'),
          ],
          [t('Started by', 'Ausgelöst von'), ({ by }) => by?.name ?? t('schedule', 'Zeitplan')],
        ]}
      />
    </>
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
    <ul class="plain">
      {destinations.map(({ destination: { type, id, name }, acknowledgedAfterMs: afterMs }) => (
        <li key={`${type}/${id}`}>
          {name}
          {type === 'session' && ` (${id})`}:{' '}
          {afterMs === null
            ? unacknowledged
            : t(`after ${number(afterMs)} ms`, `nach ${number(afterMs)} ms`)}
        </li>
      ))}
    </ul>
  );
}
