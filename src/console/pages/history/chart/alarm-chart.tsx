import { useRef, useState } from 'preact/hooks';
import { useConsole, useWords } from '../../../console-parts.js';
import { FailureText } from '../../../ui/failure-text.js';
import { useLoaded } from '../../../ui/use-request.js';
import type { AlarmSearch } from '../history-search.js';
import { HISTORY_WORDS } from '../history-words.js';
import { type AlarmCounts, readCounts, UNITS, type Unit } from './alarm-counts.js';
import { ChartBars } from './chart-bars.js';
import { ChartLegend } from './chart-legend.js';
import { ChartTable } from './chart-table.js';

/** The number of alarms in each hour or on each day, by kind. */
export function AlarmChart({ search }: { readonly search: AlarmSearch }) {
  const { live } = useConsole();
  const words = useWords(HISTORY_WORDS);
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
    <section aria-label={words.chart} aria-busy={isPending} class="history-chart">
      <div role="status">
        {data === undefined && isPending && words.loading}
        {isEmpty && words.empty}
        {data?.isCut === true && ` ${words.chartCut}`}
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
  const words = useWords(HISTORY_WORDS);
  return (
    <>
      <fieldset class="history-choice">
        <legend>{words.unit}</legend>
        {UNITS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === unit}
            disabled={one === 'hour' && !hoursFit}
            onClick={() => onUnit(one)}
          >
            {words.units[one]}
          </button>
        ))}
        {!hoursFit && <span class="hint">{words.tooManyHours}</span>}
      </fieldset>
      <ChartLegend buckets={buckets} />
      <ChartBars buckets={buckets} unit={unit} />
      <ChartTable buckets={buckets} unit={unit} />
    </>
  );
}
