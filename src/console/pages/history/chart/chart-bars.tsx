import { useEffect, useRef, useState } from 'preact/hooks';
import { KIND_WORDS, KINDS } from '../../../alarms/kinds.js';
import { useConsole, useWords } from '../../../console-parts.js';
import { useNumber } from '../../../ui/numbers.js';
import { HISTORY_WORDS } from '../history-words.js';
import type { Bucket, Unit } from './alarm-counts.js';
import { KindPatterns, patternOf } from './chart-patterns.js';
import { axisLabel, bucketName } from './chart-times.js';

const AXIS_PX = 48;
const TOP_PX = 12;
const PLOT_PX = 260;
const BOTTOM_PX = 28;
const MIN_BAR_PX = 12;
const MAX_BAR_PX = 72;
/** How much room a label below the axis needs. */
const LABEL_PX = 72;
const TICKS = 4;

interface ChartBarsProps {
  readonly buckets: readonly Bucket[];
  readonly unit: Unit;
}

/** Stacked bars; a table has the same numbers for those who cannot see them. */
export function ChartBars({ buckets, unit }: ChartBarsProps) {
  const { language } = useConsole();
  const words = useWords(HISTORY_WORDS);
  const container = useRef<HTMLElement>(null);
  const widthPx = useWidth(container);
  // People look for the newest first.
  useEffect(() => container.current?.scrollTo({ left: container.current.scrollWidth }), [unit]);
  const [most] = buckets.toSorted((one, other) => other.total - one.total);
  if (most === undefined) return null;
  const barPx = Math.floor(
    Math.min(MAX_BAR_PX, Math.max(MIN_BAR_PX, (widthPx - AXIS_PX) / buckets.length)),
  );
  const step = niceStep(most.total);
  const highest = Math.ceil(most.total / step) * step;
  const plotWidthPx = barPx * buckets.length;
  const svgWidthPx = AXIS_PX + plotWidthPx + LABEL_PX / 2;
  const heightPx = TOP_PX + PLOT_PX + BOTTOM_PX;
  const text = useNumber();
  const total = buckets.reduce((sum, bucket) => sum + bucket.total, 0);
  const when = bucketName(most.startMs, unit, language.current.value);
  const labelEvery = Math.ceil(LABEL_PX / barPx);
  const yOf = (count: number) => TOP_PX + PLOT_PX * (1 - count / highest);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it, too
    <section class="scroll" aria-label={words.chartScroll} tabIndex={0} ref={container}>
      <svg
        role="img"
        class="history-bars"
        aria-label={words.chartName(text(total), words.units[unit], text(most.total), when)}
        width={svgWidthPx}
        height={heightPx}
        viewBox={`0 0 ${svgWidthPx} ${heightPx}`}
      >
        <KindPatterns prefix="bars" />
        {Array.from({ length: highest / step + 1 }, (_none, at) => at * step).map((count) => (
          <g key={count}>
            <path class="history-grid" d={`M${AXIS_PX} ${yOf(count)}h${plotWidthPx}`} />
            <text x={AXIS_PX - 8} y={yOf(count)} dy="0.35em" text-anchor="end">
              {text(count)}
            </text>
          </g>
        ))}
        {buckets.map((bucket, at) => (
          <g key={bucket.startMs} transform={`translate(${AXIS_PX + at * barPx} 0)`}>
            <Stack bucket={bucket} unit={unit} widthPx={barPx} yOf={yOf} />
            {at % labelEvery === 0 && (
              <text x={barPx / 2} y={heightPx - 8} text-anchor="middle">
                {axisLabel(bucket.startMs, unit, language.current.value)}
              </text>
            )}
          </g>
        ))}
      </svg>
    </section>
  );
}

interface StackProps {
  readonly bucket: Bucket;
  readonly unit: Unit;
  readonly widthPx: number;
  readonly yOf: (count: number) => number;
}

function Stack({ bucket, unit, widthPx, yOf }: StackProps) {
  const { language } = useConsole();
  const kindWords = useWords(KIND_WORDS);
  const { byKind, startMs, total } = bucket;
  if (total === 0) return null;
  let below = 0;
  const parts = KINDS.flatMap((kind) => {
    const count = byKind[kind] ?? 0;
    if (count === 0) return [];
    below += count;
    return [{ kind, count, y: yOf(below), height: yOf(below - count) - yOf(below) }];
  });
  const lines = parts.map(({ kind, count }) => `${kindWords[kind]}: ${count}`);
  return (
    <g>
      <title>{[bucketName(startMs, unit, language.current.value), ...lines].join('\n')}</title>
      {parts.map(({ kind, y, height }) => (
        <rect
          key={kind}
          class="history-bar"
          x={1}
          y={y}
          width={widthPx - 2}
          height={height}
          fill={patternOf('bars', kind)}
        />
      ))}
    </g>
  );
}

/** The distance between the lines: 1, 2 or 5 times a power of ten. */
function niceStep(most: number): number {
  const rough = Math.max(1, most / TICKS);
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
}

/** The current width of an element. */
function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [widthPx, setWidthPx] = useState(640);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidthPx(entry.contentRect.width - LABEL_PX / 2);
    });
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return widthPx;
}
