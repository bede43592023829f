import { useMemo } from 'preact/hooks';
import { type Location, listLocations } from '../../api.js';
import { useConsole } from '../../console-parts.js';
import { FailureText } from '../../ui/bits.js';
import { useLoaded } from '../../ui/load.js';
import { AlarmList } from './alarm-list.js';
import { AlarmReport } from './alarm-report.js';
import { AlarmChart } from './chart/alarm-chart.js';
import { CsvDownload } from './csv/csv-download.js';
import { HistoryFilters } from './filters/history-filters.js';
import { ALL_HOMES, type AlarmSearch, parseSearch, searchQuery } from './history-search.js';
import { REPORT_PATH } from './report-path.js';
import './history.css';
import { t } from '../../language.js';

const VIEWS = ['list', 'chart'] as const;
type View = (typeof VIEWS)[number];

/** What happened: the alarms of a home as a list, a chart, or a file; or the report of one alarm. */
export function HistoryPage() {
  const { routing } = useConsole();
  return routing.place.value.path === REPORT_PATH ? <AlarmReport /> : <FoundAlarms />;
}

function FoundAlarms() {
  const homes = useLoaded(listLocations, []);
  return (
    <>
      <h1>{t('History', 'Verlauf')}</h1>
      <FailureText failure={homes.failure} onRetry={homes.again} />
      {homes.data === undefined && homes.isPending && (
        <p role="status">{t('Loading …', 'Wird geladen …')}</p>
      )}
      {homes.data !== undefined && <SearchedHistory homes={homes.data} />}
    </>
  );
}

/** The filters are only in the address: a link shows the same to everyone. */
function SearchedHistory({ homes }: { readonly homes: readonly Location[] }) {
  const { routing } = useConsole();
  const { path, query } = routing.place.value;
  const search = useMemo(() => {
    const parsed = parseSearch(query);
    return { ...parsed, locationId: parsed.locationId || (homes[0]?.id ?? '') };
  }, [query, homes]);
  const view = VIEWS.find((one) => one === query.get('view')) ?? 'list';
  const show = (changed: AlarmSearch, chosen: View) =>
    routing.replace(path, {
      ...searchQuery(changed),
      ...(chosen !== 'list' && { view: chosen }),
    });
  const setSearch = (changed: AlarmSearch) => show(changed, view);
  if (search.locationId === '')
    return (
      <p>{t('There is no home that this token may see.', 'Dieser Token darf kein Heim sehen.')}</p>
    );
  return (
    <>
      <HistoryFilters homes={homes} search={search} onChange={setSearch} />
      <div class="history-tools">
        <fieldset class="history-choice">
          <legend class="visually-hidden">{t('View', 'Ansicht')}</legend>
          {VIEWS.map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === view}
              onClick={() => show(search, one)}
            >
              {one === 'list' ? t('List', 'Liste') : t('Chart', 'Diagramm')}
            </button>
          ))}
        </fieldset>
        <CsvDownload key={JSON.stringify(search)} search={search} />
      </div>
      {view === 'list' && <AlarmList search={search} onChange={setSearch} />}
      {view === 'chart' &&
        (search.locationId === ALL_HOMES ? (
          <p>
            {t('Choose a home to see the chart.', 'Wählen Sie ein Heim, um das Diagramm zu sehen.')}
          </p>
        ) : (
          <AlarmChart search={search} />
        ))}
    </>
  );
}
