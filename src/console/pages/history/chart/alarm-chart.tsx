import { useRef, useState } from 'preact/hooks';
import { useConsole } from '../../../console-parts.js';
import { t } from '../../../language.js';
import { FailureText } from '../../../ui/bits.js';
import { useLoaded } from '../../../ui/load.js';
import { noAlarmsText, readingText } from '../alarm-states.js';
import type { AlarmSearch } from '../history-search.js';
import { type AlarmCounts, readCounts, UNITS, type Unit } from './alarm-counts.js';
import { ChartBars } from './chart-bars.js';
import { ChartLegend } from './chart-legend.js';
import { ChartTable } from './chart-table.js';
import { unitNames } from './chart-times.js';

/** The number of alarms in each hour or on each day, by kind. */
export function AlarmChart({ search }: { readonly search: AlarmSearch }) {
  const { live } = useConsole();
  const [wanted, setWanted] = useState<Unit>();
  const key = JSON.stringify(search);
  const read = useLoaded(() => readCounts(search, wanted, live.clock.now()), [key, wanted]);
  const { isPending, failure, again } = read;
  // While it changes between hours and days, the buttons stay and keep the focus.
  const shown = useRef<{ readonly key: string; readonly counts: AlarmCounts }>(undefined);
  if (read.data !== undefined) shown.current = { key, counts: read.data };
  const data = shown.current?.key === key ? shown.current.counts : undefined;
  const isEmpty = data?.buckets.every(({ total }) => total === 0) === true;
  return (
    <section aria-label={t('Chart', 'Diagramm')} aria-busy={isPending} class="history-chart">
      <div role="status">
        {data === undefined && isPending && readingText()}
        {isEmpty && noAlarmsText()}
        {data?.isCut === true &&
          ` ${t('The time is too long for one picture: its newest part is shown.', 'Der Zeitraum ist zu lang für ein Bild: Gezeigt wird der neueste Teil.')}`}
      </div>
      <FailureText failure={failure} onRetry={again} />
      {data !== undefined && !isEmpty && <Chart counts={data} onUnit={setWanted} />}
    </section>
  );
}

interface ChartProps {
  readonly counts: AlarmCounts;
  readonly onUnit: (unit: Unit) => void;
}

function Chart({ counts: { unit, buckets, hoursFit }, onUnit }: ChartProps) {
  return (
    <>
      <fieldset class="history-choice">
        <legend>{t('Count by', 'Zählen je')}</legend>
        {UNITS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === unit}
            disabled={one === 'hour' && !hoursFit}
            onClick={() => onUnit(one)}
          >
            {unitNames()[one]}
          </button>
        ))}
        {!hoursFit && (
          <span class="hint">
            {t('Hours are shown for up to 14 days.', 'Stunden werden für bis zu 14 Tage gezeigt.')}
          </span>
        )}
      </fieldset>
      <ChartLegend buckets={buckets} />
      <ChartBars buckets={buckets} unit={unit} />
      <ChartTable buckets={buckets} unit={unit} />
    </>
  );
}
