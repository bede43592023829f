/**
 * The chart of a search: stacked bars of the alarms in each hour or on each day, and the same numbers as a table whose
 * header says what the colours and patterns mean.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { KINDS, type Kind, kindName } from '../kinds.js';
import { locale, number, t } from '../language.js';
import { live } from '../live.js';
import { FailureText } from '../ui/bits.js';
import { Choice } from '../ui/fields.js';
import { useLoaded } from '../ui/load.js';
import { type Bucket, type Counted, readCounts, UNITS, type Unit } from './counts.js';
import type { AlarmSearch } from './search.js';

/** Each home is a request. */
const MAX_HOMES = 12;

const unitNames = () => ({ hour: t('by hour', 'je Stunde'), day: t('by day', 'je Tag') });

interface AlarmChartProps {
  readonly search: AlarmSearch;
  readonly homeIds: readonly string[];
}

/** The chart of a search. */
export function AlarmChart({ search, homeIds }: AlarmChartProps) {
  const [wanted, setWanted] = useState<Unit>();
  const key = JSON.stringify([search, homeIds]);
  const isTooMany = homeIds.length > MAX_HOMES;
  const { data, isPending, failure, again } = useLoaded(
    () => readCounts(search, isTooMany ? [] : homeIds, wanted, live.clock.now()),
    [key, wanted],
  );
  // While it changes between hours and days, the buttons stay and keep the focus.
  const shown = useRef<{ readonly key: string; readonly counted: Counted }>(undefined);
  if (data !== undefined) shown.current = { key, counted: data };
  const counted = shown.current?.key === key ? shown.current.counted : undefined;
  const isEmpty = counted?.buckets.every(({ total }) => total === 0) === true;
  return (
    <section aria-label={t('Chart', 'Diagramm')} aria-busy={isPending} class="history-chart">
      <div role="status" class="hint">
        {counted === undefined && isPending && t('Counting …', 'Die Alarme werden gezählt …')}
        {isEmpty && !isTooMany && t('No alarms in this time.', 'Keine Alarme in diesem Zeitraum.')}
        {isTooMany &&
          t(
            `Choose a home to see the chart: there are more than ${MAX_HOMES}.`,
            `Wählen Sie ein Heim, um das Diagramm zu sehen: Es sind mehr als ${MAX_HOMES}.`,
          )}
        {counted?.isCut === true &&
          t(
            'The time is too long for one picture: its newest part is shown.',
            'Der Zeitraum ist zu lang für ein Bild: Gezeigt wird der neueste Teil.',
          )}
      </div>
      <FailureText failure={failure} onRetry={again} />
      {counted !== undefined && !isEmpty && (
        <>
          <div>
            <Choice
              label={t('Count by', 'Zählen je')}
              isLabelHidden
              value={counted.unit}
              options={UNITS.filter((unit) => unit === 'day' || counted.hoursFit).map((unit) => [
                unit,
                unitNames()[unit],
              ])}
              onChange={setWanted}
            />
          </div>
          <Bars {...counted} />
          <Numbers {...counted} />
        </>
      )}
    </section>
  );
}

type ChartProps = Pick<Counted, 'buckets' | 'unit'>;

const AXIS_PX = 48;
const TOP_PX = 12;
const PLOT_PX = 200;
const BOTTOM_PX = 28;
const HEIGHT_PX = TOP_PX + PLOT_PX + BOTTOM_PX;
const MIN_BAR_PX = 12;
const MAX_BAR_PX = 72;
/** How much room a label below the axis needs. */
const LABEL_PX = 56;
const TICKS = 4;

/** Stacked bars; the table has the same numbers for those who cannot see them. */
function Bars({ buckets, unit }: ChartProps) {
  const container = useRef<HTMLElement>(null);
  const widthPx = useWidth(container);
  // People look for the newest first.
  useEffect(() => container.current?.scrollTo({ left: container.current.scrollWidth }), [unit]);
  const [most] = buckets.toSorted((one, other) => other.total - one.total);
  if (most === undefined) return null;
  const barPx = Math.floor(
    Math.min(MAX_BAR_PX, Math.max(MIN_BAR_PX, (widthPx - LABEL_PX) / buckets.length)),
  );
  // Room for half of a label at both ends.
  const svgPx = barPx * buckets.length + LABEL_PX;
  const step = niceStep(most.total);
  const highest = Math.ceil(most.total / step) * step;
  const ticks = Array.from({ length: highest / step + 1 }, (_none, at) => at * step);
  const yOf = (count: number) => TOP_PX + PLOT_PX * (1 - count / highest);
  const labelEvery = Math.ceil(LABEL_PX / barPx);
  return (
    <div class="history-drawing">
      {/* It stays while the bars are scrolled. */}
      <svg class="history-axis" width={AXIS_PX} height={HEIGHT_PX} aria-hidden="true">
        {ticks.map((count) => (
          <text key={count} x={AXIS_PX - 8} y={yOf(count)} dy="0.35em" text-anchor="end">
            {number(count)}
          </text>
        ))}
      </svg>
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
          aria-label={barsName(buckets, most, unit)}
          width={svgPx}
          height={HEIGHT_PX}
          viewBox={`${-LABEL_PX / 2} 0 ${svgPx} ${HEIGHT_PX}`}
        >
          <Patterns />
          {ticks.map((count) => (
            <path key={count} class="history-grid" d={`M${-LABEL_PX / 2} ${yOf(count)}h${svgPx}`} />
          ))}
          {buckets.map((bucket, at) => (
            <g key={bucket.startMs} transform={`translate(${at * barPx} 0)`}>
              <Stack bucket={bucket} unit={unit} widthPx={barPx} yOf={yOf} />
              {at % labelEvery === 0 && (
                <text x={barPx / 2} y={HEIGHT_PX - 8} text-anchor="middle">
                  {axisLabel(bucket.startMs, unit)}
                </text>
              )}
            </g>
          ))}
        </svg>
      </section>
    </div>
  );
}

/** The bars in words. */
function barsName(buckets: readonly Bucket[], most: Bucket, unit: Unit): string {
  const total = number(buckets.reduce((sum, bucket) => sum + bucket.total, 0));
  const by = unitNames()[unit];
  const when = bucketName(most.startMs, unit);
  return t(
    `Stacked bars: ${total} alarms ${by} and kind, the most (${number(most.total)}) at ${when}. The same numbers are in the table below.`,
    `Gestapelte Balken: ${total} Alarme ${by} und Art, die meisten (${number(most.total)}): ${when}. Dieselben Zahlen stehen in der Tabelle darunter.`,
  );
}

interface StackProps {
  readonly bucket: Bucket;
  readonly unit: Unit;
  readonly widthPx: number;
  readonly yOf: (count: number) => number;
}

function Stack({ bucket: { byKind, startMs, total }, unit, widthPx, yOf }: StackProps) {
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
          fill={fillOf(kind)}
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
      if (entry !== undefined) setWidthPx(entry.contentRect.width);
    });
    if (element.current !== null) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return widthPx;
}

/** Lines in an 8 by 8 square: colour is not the only sign of a kind. None for the plain pattern. */
const PATTERN_LINES: Readonly<Record<Kind, string>> = {
  fall: '',
  helpCall: 'M-2 2l4-4M0 8l8-8M6 10l4-4',
  outOfBed: 'M0 2h8M0 6h8',
  outOfRoom: 'M2 0v8M6 0v8',
  outOfSeat: 'M-2 6l4 4M0 0l8 8M6-2l4 4',
  wandering: 'M0 4h8M4 0v8',
  inactivity: 'M2 2h.01M6 6h.01',
  noise: 'M0 8l8-8M0 0l8 8',
};

/** The fills of the kinds, for all drawings of the page. */
function Patterns() {
  return (
    <defs>
      {KINDS.map((kind) => (
        <pattern
          key={kind}
          id={`history-${kind}`}
          class={`history-pattern ${kind}`}
          width="8"
          height="8"
          patternUnits="userSpaceOnUse"
        >
          <rect width="8" height="8" />
          <path d={PATTERN_LINES[kind]} />
        </pattern>
      ))}
    </defs>
  );
}

function fillOf(kind: Kind): string {
  return `url(#history-${kind})`;
}

/** The header is the legend: the kinds that occur, from the bottom of the stacks, with their numbers. */
function Numbers({ buckets, unit }: ChartProps) {
  const [isOpen, setOpen] = useState(false);
  const totalOf = (kind: Kind) => buckets.reduce((sum, { byKind }) => sum + (byKind[kind] ?? 0), 0);
  const kinds = KINDS.filter((kind) => totalOf(kind) > 0);
  const all = buckets.reduce((sum, { total }) => sum + total, 0);
  return (
    <>
      <section
        class="scroll"
        aria-label={t('Table of the chart', 'Tabelle zum Diagramm')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it, too
        tabIndex={0}
      >
        <table class={isOpen ? 'history-numbers' : 'history-numbers folded'}>
          <thead>
            <tr>
              {isOpen && <th scope="col">{t('Time', 'Zeit')}</th>}
              {kinds.map((kind) => (
                <th key={kind} scope="col">
                  <svg class="history-swatch" aria-hidden="true">
                    <rect width="24" height="24" fill={fillOf(kind)} />
                  </svg>{' '}
                  {kindName(kind)} <span class="hint">{number(totalOf(kind))}</span>
                </th>
              ))}
              <th scope="col">
                {t('Total', 'Summe')} <span class="hint">{number(all)}</span>
              </th>
            </tr>
          </thead>
          {isOpen && (
            <tbody>
              {buckets.flatMap(({ startMs, byKind, total }) =>
                total === 0 ? (
                  []
                ) : (
                  <tr key={startMs}>
                    <th scope="row">{bucketName(startMs, unit)}</th>
                    {kinds.map((kind) => (
                      <td key={kind}>{number(byKind[kind] ?? 0)}</td>
                    ))}
                    <td>{number(total)}</td>
                  </tr>
                ),
              )}
            </tbody>
          )}
        </table>
      </section>
      <div class="row">
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {t('The same as a table', 'Dasselbe als Tabelle')}
        </button>
        {isOpen && (
          <span class="hint">
            {t(
              'Hours and days without alarms are left out.',
              'Stunden und Tage ohne Alarme sind ausgelassen.',
            )}
          </span>
        )}
      </div>
    </>
  );
}

const DATE = { day: 'numeric', month: 'short' } as const;
const CLOCK = { hour: '2-digit', minute: '2-digit' } as const;

/** An hour or a day in words: `Mon, 23 Nov, 14:00`. */
function bucketName(startMs: number, unit: Unit): string {
  const rest = unit === 'hour' ? CLOCK : ({ year: 'numeric' } as const);
  return new Intl.DateTimeFormat(locale(), { weekday: 'short', ...DATE, ...rest }).format(startMs);
}

/** A short form for the axis, where there is little room: the hour, or the date at the start of a day. */
function axisLabel(startMs: number, unit: Unit): string {
  const isHour = unit === 'hour' && new Date(startMs).getHours() !== 0;
  return new Intl.DateTimeFormat(locale(), isHour ? CLOCK : DATE).format(startMs);
}
