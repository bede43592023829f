import { useEffect, useRef, useState } from 'preact/hooks';
import { KINDS, kindName } from '../../../kinds.js';
import { number, t } from '../../../language.js';
import type { Bucket, Unit } from './alarm-counts.js';
import { KindPatterns, patternOf } from './chart-patterns.js';
import { axisLabel, bucketName, unitNames } from './chart-times.js';

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
  const total = buckets.reduce((sum, bucket) => sum + bucket.total, 0);
  const when = bucketName(most.startMs, unit);
  const unitName = unitNames()[unit];
  const name = t(
    `Stacked bars: ${number(total)} alarms by ${unitName} and kind, the most (${number(most.total)}) at ${when}. The same numbers are in the table below.`,
    `Gestapelte Balken: ${number(total)} Alarme je ${unitName} und Art, die meisten (${number(most.total)}): ${when}. Dieselben Zahlen stehen in der Tabelle darunter.`,
  );
  const labelEvery = Math.ceil(LABEL_PX / barPx);
  const yOf = (count: number) => TOP_PX + PLOT_PX * (1 - count / highest);
  return (
    <section
      class="scroll"
      aria-label={t('Chart, scrolls sideways', 'Diagramm, lässt sich seitlich verschieben')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it, too
      tabIndex={0}
      ref={container}
    >
      <svg
        role="img"
        class="history-bars"
        aria-label={name}
        width={svgWidthPx}
        height={heightPx}
        viewBox={`0 0 ${svgWidthPx} ${heightPx}`}
      >
        <KindPatterns prefix="bars" />
        {Array.from({ length: highest / step + 1 }, (_none, at) => at * step).map((count) => (
          <g key={count}>
            <path class="history-grid" d={`M${AXIS_PX} ${yOf(count)}h${plotWidthPx}`} />
            <text x={AXIS_PX - 8} y={yOf(count)} dy="0.35em" text-anchor="end">
              {number(count)}
            </text>
          </g>
        ))}
        {buckets.map((bucket, at) => (
          <g key={bucket.startMs} transform={`translate(${AXIS_PX + at * barPx} 0)`}>
            <Stack bucket={bucket} unit={unit} widthPx={barPx} yOf={yOf} />
            {at % labelEvery === 0 && (
              <text x={barPx / 2} y={heightPx - 8} text-anchor="middle">
                {axisLabel(bucket.startMs, unit)}
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
  const { byKind, startMs, total } = bucket;
  if (total === 0) return null;
  let below = 0;
  const parts = KINDS.flatMap((kind) => {
    const count = byKind[kind] ?? 0;
    if (count === 0) return [];
    below += count;
    return [{ kind, count, y: yOf(below), height: yOf(below - count) - yOf(below) }];
  });
  const lines = parts.map(({ kind, count }) => `${kindName(kind)}: ${count}`);
  return (
    <g>
      <title>{[bucketName(startMs, unit), ...lines].join('\n')}</title>
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
