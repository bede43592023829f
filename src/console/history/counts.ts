/**
 * How many alarms of a search there were in each hour or on each day, by kind. The gateway counts, by the clocks of the
 * reader; all homes are a request each, and are added up here.
 */

import { countAlarms } from '../api.js';
import { type Kind, kindOf } from '../kinds.js';
import { type AlarmSearch, alarmQuery } from './search.js';

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
export interface Counted {
  readonly unit: Unit;
  /** The oldest first, including those without an alarm: a quiet night should be visible. */
  readonly buckets: readonly Bucket[];
  readonly hoursFit: boolean;
  /** Whether the wanted time is too long, so that only its newest part is counted. */
  readonly isCut: boolean;
}

/**
 * Counts the alarms of a search. One without a start is counted from the first day with an alarm.
 *
 * @param homeIds the homes that the search covers
 * @param wanted undefined: whichever suits the time best
 */
export async function readCounts(
  search: AlarmSearch,
  homeIds: readonly string[],
  wanted: Unit | undefined,
  nowMs: number,
): Promise<Counted> {
  const toMs = search.toMs ?? nowMs + 1;
  const count = async (by: Unit, fromMs: number) => {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    // Without an end, the gateway counts up to now by its own clock: this one may be a second behind.
    const query = { ...alarmQuery({ ...search, fromMs }), by, timeZone };
    const ofHomes = homeIds.map((locationId) => countAlarms({ locationId }, query));
    return added((await Promise.all(ofHomes)).flatMap(({ buckets }) => buckets));
  };
  const days =
    search.fromMs === undefined ? fromFirstAlarm(await count('day', toMs - MAX_COUNTED_MS)) : [];
  const wantedFromMs = search.fromMs ?? days[0]?.startMs ?? toMs - 1;
  const fromMs = Math.max(toMs - MAX_MS.day, wantedFromMs);
  const lengthMs = toMs - fromMs;
  const hoursFit = lengthMs <= MAX_MS.hour;
  const preferred = wanted ?? (lengthMs <= HOURS_FIRST_MS ? 'hour' : 'day');
  const unit = hoursFit ? preferred : 'day';
  const buckets =
    unit === 'day' && search.fromMs === undefined
      ? days.filter(({ startMs }) => startMs >= fromMs)
      : await count(unit, fromMs);
  return { unit, buckets, hoursFit, isCut: fromMs > wantedFromMs };
}

/** The numbers of all homes together; kinds that only a newer gateway knows are in the totals. */
function added(
  counted: readonly { start: string; counts: Readonly<Record<string, number>> }[],
): Bucket[] {
  const buckets = new Map<string, Bucket>();
  for (const { start, counts } of counted) {
    const byKind = { ...buckets.get(start)?.byKind };
    let total = buckets.get(start)?.total ?? 0;
    for (const [name, count] of Object.entries(counts)) {
      const kind = kindOf(name);
      total += count;
      if (kind !== undefined) byKind[kind] = (byKind[kind] ?? 0) + count;
    }
    buckets.set(start, { startMs: Date.parse(start), total, byKind });
  }
  return [...buckets.values()];
}

function fromFirstAlarm(buckets: readonly Bucket[]): readonly Bucket[] {
  const first = buckets.findIndex(({ total }) => total > 0);
  return first === -1 ? [] : buckets.slice(first);
}
