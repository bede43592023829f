import { useSentOnLeave } from '../../board/changes.js';
import { number, t } from '../../language.js';
import { FailureText } from '../../ui/bits.js';
import { AlarmCards } from './alarm-cards.js';
import { noAlarmsText, readingText } from './alarm-states.js';
import { AlarmTable } from './alarm-table.js';
import { removeFilters } from './filters/history-filters.js';
import { type AlarmSearch, isNarrowed } from './history-search.js';
import { type AlarmList as List, useAlarmList } from './use-alarm-list.js';
import { useIsNarrow } from './use-is-narrow.js';

interface AlarmListProps {
  readonly search: AlarmSearch;
  readonly onChange: (search: AlarmSearch) => void;
}

/** The alarms of a search, the newest first. */
export function AlarmList({ search, onChange }: AlarmListProps) {
  const list = useAlarmList(search);
  useSentOnLeave();
  const isNarrow = useIsNarrow();
  const { alarms, nextCursor, isPending, failure } = list;
  const isEmpty = alarms.length === 0 && !isPending && failure === undefined;
  const Rows = isNarrow ? AlarmCards : AlarmTable;
  return (
    <section aria-label={t('List', 'Liste')} aria-busy={isPending} class="history-list">
      {(list.isCut || list.isOutdated) && (
        <p role="status" class="hint">
          {list.isOutdated
            ? t('Newer alarms have come.', 'Es gibt neuere Alarme.')
            : t(
                'Newer alarms made room for older ones.',
                'Neuere Alarme haben älteren Platz gemacht.',
              )}{' '}
          <button type="button" onClick={list.again}>
            {t('Show the newest', 'Die neuesten zeigen')}
          </button>
        </p>
      )}
      {alarms.length > 0 && (
        <Rows alarms={alarms} locationId={search.locationId} changes={list.changed} />
      )}
      {isEmpty && nextCursor === null && <Empty search={search} onChange={onChange} />}
      <p role="status" class="hint">
        {isPending && readingText()} <Account list={list} />
      </p>
      <FailureText failure={failure} onRetry={nextCursor === undefined ? list.again : list.more} />
      {!isPending && failure === undefined && typeof nextCursor === 'string' && (
        <button type="button" onClick={list.more}>
          {t('Older alarms', 'Ältere Alarme')}
        </button>
      )}
    </section>
  );
}

/** How many are shown. */
function Account({ list }: { readonly list: List }) {
  const { alarms, nextCursor } = list;
  if (nextCursor === undefined) return null;
  return (
    <>
      {t(`Alarms shown: ${number(alarms.length)}`, `Angezeigte Alarme: ${number(alarms.length)}`)}.{' '}
      {nextCursor === null && alarms.length > 0 && t('These are all.', 'Das sind alle.')}
    </>
  );
}

function Empty({ search, onChange }: AlarmListProps) {
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
      <p>{hasTime || isFiltered ? noAlarmsText() : t('No alarms yet.', 'Noch keine Alarme.')}</p>
      {hasTime && (
        <button
          type="button"
          onClick={() => onChange({ ...search, fromMs: undefined, toMs: undefined })}
        >
          {t('Any time', 'Gesamter Zeitraum')}
        </button>
      )}
      {isFiltered && (
        <button type="button" onClick={() => onChange({ ...search, ...withoutFilters })}>
          {removeFilters()}
        </button>
      )}
    </div>
  );
}
