import './board.css';
import './alarms/alarms.css';
import './wall/wall.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useConsole } from '../../console-parts.js';
import { t } from '../../language.js';
import { alarmChanges, isGone } from './alarm-changes.js';
import { AlarmList } from './alarms/alarm-list.js';
import { alarmTitle } from './alarms/alarm-title.js';
import { Announcer } from './announcer.js';
import { BoardTools } from './board-tools.js';
import { useDelayedResolves } from './delayed-resolves.js';
import { GatewayFaults } from './gateway-faults.js';
import { OfflineSensors } from './offline-sensors.js';
import { ResolveTests } from './resolve-tests.js';
import { SilentSensors } from './silent-sensors.js';
import { useBoard } from './use-board.js';
import { WallHead } from './wall/wall-head.js';

/** With more homes, offline sensors are named only for a chosen home. */
const MAX_HOMES_WITH_SENSORS = 10;

/** The open alarms of all homes that the token may see. */
export function BoardPage() {
  const { routing, session } = useConsole();
  const resolves = useDelayedResolves();
  const board = useBoard(resolves);
  const { feed, homeId } = board;
  const [notice, setNotice] = useState('');
  const { alarms, notHeld, isHistoryCut, locations } = feed.state.value;
  const chosen = homeId.value;
  const shown =
    chosen === undefined ? alarms : alarms.filter(({ location }) => location.id === chosen);
  // It is unknown to which homes the alarms that are not held belong.
  const [rest, isCut] =
    chosen === undefined ? [notHeld, isHistoryCut] : [0, isHistoryCut || notHeld > 0];
  const count = `${shown.length + rest}${isCut ? '+' : ''}`;
  useTabNote(count === '0' ? undefined : `(${count})`);
  const change = useMemo(
    () =>
      alarmChanges({
        shown: feed,
        resolves,
        onChanged: ({ alarm, state }) =>
          setNotice(
            state === 'resolved'
              ? t(`Resolved: ${alarmTitle(alarm)}`, `Erledigt: ${alarmTitle(alarm)}`)
              : '',
          ),
        onNoteLost: () =>
          setNotice(
            t(
              'Somebody else was faster: your note was not saved.',
              'Jemand war schneller: Ihre Notiz wurde nicht gespeichert.',
            ),
          ),
        onRefused: ({ code }) => {
          if (code === 'alarm-resolved')
            setNotice(
              t('Somebody has resolved this alarm already.', 'Dieser Alarm ist schon erledigt.'),
            );
          if (isGone(code))
            setNotice(
              t(
                'This alarm is no longer in the history.',
                'Dieser Alarm steht nicht mehr im Verlauf.',
              ),
            );
        },
      }),
    [feed, resolves],
  );
  const homes = locations.filter(({ id }) => chosen === undefined || id === chosen);
  const homesWithSensors = homes.length > MAX_HOMES_WITH_SENSORS ? [] : homes;
  const isKiosk = routing.place.value.query.has('kiosk');
  return (
    <div class={isKiosk ? 'board kiosk' : 'board'}>
      <div class="board-head">
        {isKiosk && <WallHead board={board} />}
        <h1>
          {board.isKnown.value
            ? t(`Open alarms: ${count}`, `Offene Alarme: ${count}`)
            : t('Open alarms', 'Offene Alarme')}
        </h1>
        <ResolveTests shown={shown} change={change} resolves={resolves} />
        <BoardTools board={board} isKiosk={isKiosk} />
      </div>
      {session.may('responder') && (
        <p class="board-notice" role="status">
          {notice}
        </p>
      )}
      <Announcer announcements={board.announcements} />
      <div class={shown.length > 0 ? 'board-notices beside-alarms' : 'board-notices'}>
        <GatewayFaults isKiosk={isKiosk} />
        {homesWithSensors.map(({ id }) => (
          <OfflineSensors
            key={id}
            locationId={id}
            hasHome={locations.length > 1}
            isKiosk={isKiosk}
          />
        ))}
        {homesWithSensors.map(({ id }) => (
          <SilentSensors key={id} locationId={id} />
        ))}
      </div>
      <AlarmList
        board={board}
        shown={shown}
        rest={rest}
        isCut={isCut}
        change={change}
        resolves={resolves}
        isKiosk={isKiosk}
      />
    </div>
  );
}

/** Shows the number of alarms in the tab title. */
function useTabNote(note: string | undefined): void {
  const { tabNote } = useConsole();
  useEffect(() => {
    tabNote.value = note ?? '';
    return () => {
      tabNote.value = '';
    };
  }, [tabNote, note]);
}
