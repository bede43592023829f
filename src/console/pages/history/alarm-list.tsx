import { useWords } from '../../console-parts.js';
import { FailureText } from '../../ui/failure-text.js';
import { useNumber } from '../../ui/numbers.js';
import { alarmChanges } from '../board/alarm-changes.js';
import { useDelayedResolves } from '../board/delayed-resolves.js';
import { AlarmCards } from './alarm-cards.js';
import { AlarmTable } from './alarm-table.js';
import { type AlarmSearch, isNarrowed } from './history-search.js';
import { HISTORY_WORDS } from './history-words.js';
import { type AlarmList as List, useAlarmList } from './use-alarm-list.js';
import { useIsNarrow } from './use-is-narrow.js';

interface AlarmListProps {
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

/** The alarms of a search, the newest first. */
export function AlarmList({ search, onChange }: AlarmListProps) {
  const words = useWords(HISTORY_WORDS);
  const list = useAlarmList(search);
  const resolves = useDelayedResolves();
  const change = alarmChanges({
    shown: { changed: list.changed, readAgain: list.again },
    resolves,
  });
  const isNarrow = useIsNarrow();
  const { alarms, nextCursor, isPending, failure } = list;
  const isEmpty = alarms.length === 0 && !isPending && failure === undefined;
  const Rows = isNarrow ? AlarmCards : AlarmTable;
  return (
    <section aria-label={words.list} aria-busy={isPending} class="history-list">
      {list.isCut && (
        <p class="hint">
          {words.isCut}{' '}
          <button type="button" onClick={list.again}>
            {words.toNewest}
          </button>
        </p>
      )}
      {alarms.length > 0 && (
        <Rows alarms={alarms} locationId={search.locationId} changes={{ change, resolves }} />
      )}
      {isEmpty && nextCursor === null && <Empty search={search} onChange={onChange} />}
      {isEmpty && nextCursor !== null && <p>{words.emptySoFar}</p>}
      <p role="status" class="hint">
        {isPending && words.loading} <Account list={list} isOfRoom={search.roomId !== ''} />
      </p>
      <FailureText failure={failure} onRetry={nextCursor === undefined ? list.again : list.more} />
      {!isPending && failure === undefined && typeof nextCursor === 'string' && (
        <button type="button" onClick={list.more}>
          {alarms.length > 0 ? words.more : words.readOn}
        </button>
      )}
    </section>
  );
}

/** What is shown; for a room, which the browser looks for, of how many that were read. */
function Account({ list, isOfRoom }: { readonly list: List; readonly isOfRoom: boolean }) {
  const words = useWords(HISTORY_WORDS);
  const { alarms, pagesRead, alarmsRead, nextCursor } = list;
  const text = useNumber();
  if (pagesRead === 0) return null;
  const parts = [words.shown(text(alarms.length))];
  if (isOfRoom) parts.push(words.readFor(text(alarmsRead), text(pagesRead)));
  return (
    <>
      {parts.join(', ')}. {nextCursor === null && alarms.length > 0 && words.isEnd}
    </>
  );
}

function Empty({ search, onChange }: AlarmListProps) {
  const words = useWords(HISTORY_WORDS);
  const hasTime = search.fromMs !== undefined || search.toMs !== undefined;
  const isFiltered = isNarrowed(search);
  const withoutFilters = { roomId: '', deviceId: '', kinds: [], states: [] };
  return (
    <div class="history-empty">
      <p>{hasTime || isFiltered ? words.empty : words.emptyEver}</p>
      {hasTime && (
        <button
          type="button"
          onClick={() => onChange({ ...search, fromMs: undefined, toMs: undefined })}
        >
          {words.anyTime}
        </button>
      )}
      {isFiltered && (
        <button type="button" onClick={() => onChange({ ...search, ...withoutFilters })}>
          {words.removeFilters}
        </button>
      )}
    </div>
  );
}
