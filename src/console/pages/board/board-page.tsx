import './board.css';
import './alarms/alarms.css';
import './wall/wall.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useConsole, useWords } from '../../console-parts.js';
import { alarmChanges, isGone } from './alarm-changes.js';
import { AlarmList } from './alarms/alarm-list.js';
import { useAlarmTitle } from './alarms/alarm-title.js';
import { Announcer } from './announcer.js';
import { BoardTools } from './board-tools.js';
import { BOARD_WORDS } from './board-words.js';
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
  const words = useWords(BOARD_WORDS);
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
  const titleOf = useAlarmTitle();
  const change = useMemo(
    () =>
      alarmChanges({
        shown: feed,
        resolves,
        onChanged: ({ alarm, state }) =>
          setNotice(state === 'resolved' ? words.resolved(titleOf(alarm)) : ''),
        onNoteLost: () => setNotice(words.noteNotKept),
        onRefused: ({ code }) => {
          if (code === 'alarm-resolved') setNotice(words.wasResolved);
          if (isGone(code)) setNotice(words.isGone);
        },
      }),
    [feed, resolves, words],
  );
  const homes = locations.filter(({ id }) => chosen === undefined || id === chosen);
  const homesWithSensors = homes.length > MAX_HOMES_WITH_SENSORS ? [] : homes;
  const isKiosk = routing.place.value.query.has('kiosk');
  return (
    <div class={isKiosk ? 'board kiosk' : 'board'}>
      <div class="board-head">
        {isKiosk && <WallHead board={board} />}
        <h1>{board.isKnown.value ? words.open(count) : words.title}</h1>
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
    tabNote.value = note;
    return () => {
      tabNote.value = undefined;
    };
  }, [tabNote, note]);
}
