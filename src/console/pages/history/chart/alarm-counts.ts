import { countAlarms } from '../../../api.js';
import { type Kind, kindOf } from '../../../kinds.js';
import { searchParameters } from '../alarm-pages.js';
import type { AlarmSearch } from '../history-search.js';

/** The number of alarms in an hour or on a day. */
export interface Bucket {
  readonly startMs: number;
  readonly total: number;
  readonly byKind: Readonly<Partial<Record<Kind, number>>>;
}

export const UNITS = ['hour', 'day'] as const;
export type Unit = (typeof UNITS)[number];

const DAY_MS = 24 * 3_600_000;
/** The longest time in the chart: two weeks of hours, and more than a year of days. */
const MAX_MS = { hour: 14 * DAY_MS, day: 399 * DAY_MS } as const;
/** How far back a search without a start is counted: as far as one request may. */
const MAX_COUNTED_MS = 998 * DAY_MS;
/** Up to this length, hours are more useful than days. */
const HOURS_FIRST_MS = 3 * DAY_MS;

/** The numbers of a chart. */
export interface AlarmCounts {
  readonly unit: Unit;
  /** The oldest first, including those without an alarm: a quiet night should be visible. */
  readonly buckets: readonly Bucket[];
  readonly hoursFit: boolean;
  /** Whether the wanted time is too long, so that only its newest part is counted. */
  readonly isCut: boolean;
}

/**
 * Lets the gateway count the alarms of a search by hours or days in the browser's time zone.
 *
 * A search without a start is counted from the first day with an alarm.
 *
 * @param wanted undefined: whichever suits the time best
 */
export async function readCounts(
  search: AlarmSearch,
  wanted: Unit | undefined,
  nowMs: number,
): Promise<AlarmCounts> {
  const toMs = search.toMs ?? nowMs + 1;
  const earliestMs = toMs - MAX_MS.day;
  const days =
    search.fromMs === undefined
      ? fromFirstAlarm(await count(search, 'day', toMs - MAX_COUNTED_MS, toMs))
      : undefined;
  const wantedFromMs = search.fromMs ?? days?.[0]?.startMs ?? toMs - 1;
  const isCut = wantedFromMs < earliestMs;
  const fromMs = Math.max(earliestMs, wantedFromMs);
  const lengthMs = toMs - fromMs;
  const hoursFit = lengthMs <= MAX_MS.hour;
  const preferred = wanted ?? (lengthMs <= HOURS_FIRST_MS ? 'hour' : 'day');
  const unit = hoursFit ? preferred : 'day';
  const isCounted = unit === 'day' && days !== undefined;
  const buckets = isCounted
    ? days.filter(({ startMs }) => startMs >= fromMs)
    : await count(search, unit, fromMs, toMs);
  return { unit, buckets, hoursFit, isCut };
}

async function count(
  search: AlarmSearch,
  by: Unit,
  fromMs: number,
  toMs: number,
): Promise<Bucket[]> {
  const { footage: _, ...parameters } = searchParameters({ ...search, fromMs, toMs });
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const { locationId } = search;
  const { buckets } = await countAlarms({ locationId }, { by, timeZone, ...parameters });
  return buckets.map(({ start, counts }) => bucketOf(Date.parse(start), counts));
}

function bucketOf(startMs: number, counts: Readonly<Record<string, number>>): Bucket {
  const byKind: Partial<Record<Kind, number>> = {};
  let total = 0;
  for (const [name, number] of Object.entries(counts)) {
    const kind = kindOf(name);
    if (kind !== undefined) byKind[kind] = number;
    total += number;
  }
  return { startMs, total, byKind };
}

function fromFirstAlarm(buckets: readonly Bucket[]): readonly Bucket[] {
  const first = buckets.findIndex(({ total }) => total > 0);
  return first === -1 ? [] : buckets.slice(first);
}
