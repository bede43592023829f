import { useMemo, useState } from 'preact/hooks';
import { useConsole, useWords } from '../../../console-parts.js';
import { FailureText } from '../../../ui/failure-text.js';
import { useNumber } from '../../../ui/numbers.js';
import type { AlarmSearch } from '../history-search.js';
import { HISTORY_WORDS } from '../history-words.js';
import { countAlarms, fits, type Unit } from './alarm-counts.js';
import { ChartBars } from './chart-bars.js';
import { ChartLegend } from './chart-legend.js';
import { ChartTable } from './chart-table.js';
import { type ChartAlarms, MAX_CHART_ALARMS, useChartAlarms } from './use-chart-alarms.js';

const UNITS = ['hour', 'day'] as const;
/** Up to this long, hours say more than days. */
const HOURS_FIRST_MS = 3 * 24 * 3_600_000;

/** How many alarms there were in each hour or on each day, by kind. */
export function AlarmChart({ search }: { readonly search: AlarmSearch }) {
  const words = useWords(HISTORY_WORDS);
  const [wantedUnit, setWantedUnit] = useState<Unit>();
  const chart = useChartAlarms(search);
  const { alarms, end } = chart;
  const { fromMs, toMs } = useShownTime(search, chart);
  const hoursFit = fits('hour', fromMs, toMs);
  const preferred = wantedUnit ?? (toMs - fromMs <= HOURS_FIRST_MS ? 'hour' : 'day');
  const unit = hoursFit ? preferred : 'day';
  const buckets = useMemo(
    () => (end === undefined ? [] : countAlarms(alarms, unit, fromMs, toMs)),
    [end, alarms, unit, fromMs, toMs],
  );
  return (
    <section aria-label={words.chart} aria-busy={end === undefined} class="history-chart">
      <ChartState chart={chart} isCut={end !== undefined && !fits('day', fromMs, toMs)} />
      {end !== undefined && alarms.length > 0 && (
        <>
          <fieldset class="history-choice">
            <legend>{words.unit}</legend>
            {UNITS.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={one === unit}
                disabled={one === 'hour' && !hoursFit}
                onClick={() => setWantedUnit(one)}
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
      )}
    </section>
  );
}

/** From the wanted beginning, or the oldest alarm that was read where there is none, or older ones were not read. */
function useShownTime({ fromMs, toMs }: AlarmSearch, { end, oldestMs, alarms }: ChartAlarms) {
  const { live } = useConsole();
  const endMs = useMemo(() => toMs ?? live.clock.now() + 1, [toMs, alarms]);
  const readFromMs = oldestMs ?? endMs - 1;
  const startMs = end === 'complete' ? (fromMs ?? readFromMs) : readFromMs;
  return { fromMs: Math.min(startMs, endMs - 1), toMs: endMs };
}

/** How far reading is, why it ended, and what is not in the picture. */
function ChartState({ chart, isCut }: { readonly chart: ChartAlarms; readonly isCut: boolean }) {
  const words = useWords(HISTORY_WORDS);
  const { alarms, alarmsRead, end, failure } = chart;
  const text = useNumber();
  return (
    <>
      <div role="status">
        {end === undefined && words.chartProgress(text(alarmsRead), text(MAX_CHART_ALARMS))}
        {end === 'more' && words.chartMore(text(alarmsRead))}
        {end === 'cancelled' && words.chartCancelled}
        {end === 'complete' && alarms.length === 0 && words.empty}
        {isCut && ` ${words.chartCut}`}
      </div>
      {end === undefined && (
        <>
          <progress aria-label={words.loading} max={MAX_CHART_ALARMS} value={alarmsRead} />{' '}
          <button type="button" onClick={chart.cancel}>
            {words.cancel}
          </button>
        </>
      )}
      <FailureText failure={failure} onRetry={chart.again} />
    </>
  );
}
