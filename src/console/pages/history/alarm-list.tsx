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
      {(list.isCut || list.isOutdated) && (
        <p role="status" class="hint">
          {list.isOutdated ? words.isOutdated : words.isCut}{' '}
          <button type="button" onClick={list.again}>
            {words.toNewest}
          </button>
        </p>
      )}
      {alarms.length > 0 && (
        <Rows alarms={alarms} locationId={search.locationId} changes={{ change, resolves }} />
      )}
      {isEmpty && nextCursor === null && <Empty search={search} onChange={onChange} />}
      <p role="status" class="hint">
        {isPending && words.loading} <Account list={list} />
      </p>
      <FailureText failure={failure} onRetry={nextCursor === undefined ? list.again : list.more} />
      {!isPending && failure === undefined && typeof nextCursor === 'string' && (
        <button type="button" onClick={list.more}>
          {words.more}
        </button>
      )}
    </section>
  );
}

/** How many are shown. */
function Account({ list }: { readonly list: List }) {
  const words = useWords(HISTORY_WORDS);
  const { alarms, nextCursor } = list;
  const text = useNumber();
  if (nextCursor === undefined) return null;
  return (
    <>
      {words.shown(text(alarms.length))}. {nextCursor === null && alarms.length > 0 && words.isEnd}
    </>
  );
}

function Empty({ search, onChange }: AlarmListProps) {
  const words = useWords(HISTORY_WORDS);
  const hasTime = search.fromMs !== undefined || search.toMs !== undefined;
  const isFiltered = isNarrowed(search);
  const withoutFilters = {
    roomId: '',
    deviceId: '',
    kinds: [],
    states: [],
    isWithoutTests: false,
  };
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
