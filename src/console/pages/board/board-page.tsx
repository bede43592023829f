import './board.css';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useConsole, useWords } from '../../console-parts.js';
import { alarmChanges, isGone } from './alarm-changes.js';
import { AlarmList } from './alarm-list.js';
import { useAlarmTitle } from './alarm-title.js';
import { Announcer } from './announcer.js';
import { BoardTools } from './board-tools.js';
import { BOARD_WORDS } from './board-words.js';
import { useBoard } from './use-board.js';

/** The open alarms of all homes that the token may see. */
export function BoardPage() {
  const { routing, session } = useConsole();
  const words = useWords(BOARD_WORDS);
  const board = useBoard();
  const { feed, homeId } = board;
  const [notice, setNotice] = useState('');
  const { alarms, notHeld, isHistoryCut } = feed.state.value;
  const chosen = homeId.value;
  const shown =
    chosen === undefined ? alarms : alarms.filter(({ location }) => location.id === chosen);
  // Of which homes they are that are not held, nobody knows.
  const [rest, isCut] =
    chosen === undefined ? [notHeld, isHistoryCut] : [0, isHistoryCut || notHeld > 0];
  const count = `${shown.length + rest}${isCut ? '+' : ''}`;
  useTabNote(count === '0' ? undefined : `(${count})`);
  const titleOf = useAlarmTitle();
  const change = useMemo(
    () =>
      alarmChanges(
        feed,
        ({ alarm, state }) => setNotice(state === 'resolved' ? words.resolved(titleOf(alarm)) : ''),
        ({ code }) => {
          if (code === 'alarm-resolved') setNotice(words.wasResolved);
          if (isGone(code)) setNotice(words.isGone);
        },
      ),
    [feed, words],
  );
  const isKiosk = routing.place.value.query.has('kiosk');
  return (
    <div class={isKiosk ? 'board kiosk' : 'board'}>
      <div class="board-head">
        <h1>{board.isKnown.value ? words.open(count) : words.title}</h1>
        <BoardTools {...{ board, isKiosk }} />
      </div>
      {session.may('responder') && (
        <p class="board-notice" role="status">
          {notice}
        </p>
      )}
      <Announcer announcements={board.announcements} />
      <AlarmList {...{ board, shown, rest, isCut, change }} />
    </div>
  );
}

/** Shows the number of alarms where the tab is not looked at. */
function useTabNote(note: string | undefined): void {
  const { tabNote } = useConsole();
  useEffect(() => {
    tabNote.value = note;
    return () => {
      tabNote.value = undefined;
    };
  }, [tabNote, note]);
}
