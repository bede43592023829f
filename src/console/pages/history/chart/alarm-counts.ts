/** How many alarms there were in an hour or on a day. */
export interface Bucket<Kind extends string> {
  readonly startMs: number;
  readonly total: number;
  readonly byKind: Readonly<Partial<Record<Kind, number>>>;
}

export type Unit = 'hour' | 'day';

/** The most hours or days that are drawn: two weeks of hours, and more than a year of days. */
export const MAX_BUCKETS = { hour: 14 * 24 + 1, day: 400 } as const;

const HOUR_MS = 3_600_000;

interface Counted<Kind extends string> {
  readonly kind: Kind;
  readonly detectedAt: string;
}

/**
 * Counts alarms by kind, in hours or days of the browser's time zone, the oldest first.
 *
 * Hours and days without an alarm are there, too: a quiet night is to be seen. Of more than `MAX_BUCKETS` the
 * newest are counted.
 *
 * @param toMs the end, which does not count
 */
export function countAlarms<Kind extends string>(
  alarms: readonly Counted<Kind>[],
  unit: Unit,
  fromMs: number,
  toMs: number,
): Bucket<Kind>[] {
  const starts: number[] = [];
  for (let start = startOf(unit, toMs - 1); ; start = startOf(unit, start - 1)) {
    starts.push(start);
    if (start <= fromMs || starts.length === MAX_BUCKETS[unit]) break;
  }
  const counts = new Map(starts.reverse().map((start) => [start, new Map<Kind, number>()]));
  for (const { kind, detectedAt } of alarms) {
    const count = counts.get(startOf(unit, Date.parse(detectedAt)));
    count?.set(kind, (count.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([startMs, byKind]) => ({
    startMs,
    total: sum([...byKind.values()]),
    byKind: recordOf(byKind),
  }));
}

/** Whether all hours or days between these times fit. */
export function fits(unit: Unit, fromMs: number, toMs: number): boolean {
  const unitMs = unit === 'hour' ? HOUR_MS : 24 * HOUR_MS;
  return (toMs - fromMs) / unitMs < MAX_BUCKETS[unit];
}

/** Days have 23 or 25 hours when the clocks change; hours always have 60 minutes. */
function startOf(unit: Unit, timeMs: number): number {
  const start = new Date(timeMs);
  if (unit === 'day') return start.setHours(0, 0, 0, 0);
  // By the minutes past the hour: twice a year the local hour is not unique.
  const passedMs = start.getMinutes() * 60_000 + start.getSeconds() * 1_000;
  return timeMs - passedMs - start.getMilliseconds();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function recordOf<Kind extends string>(byKind: Map<Kind, number>): Partial<Record<Kind, number>> {
  const record: Partial<Record<Kind, number>> = {};
  for (const [kind, count] of byKind) record[kind] = count;
  return record;
}
