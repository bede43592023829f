import { describe, expect, it } from 'vitest';
import {
  countAlarms,
  fits,
  MAX_BUCKETS,
} from '../../src/console/pages/history/chart/alarm-counts.js';

// A zone whose clocks change, with an offset of whole hours.
process.env['TZ'] = 'Europe/Berlin';

const HOUR_MS = 3_600_000;

function alarm(kind: string, detectedAt: string) {
  return { kind, detectedAt };
}

function countsOf(buckets: readonly { readonly startMs: number; readonly total: number }[]) {
  return buckets.map(({ startMs, total }) => [new Date(startMs).toISOString(), total]);
}

describe('counting alarms', () => {
  it('counts by hour and kind, with the hours in which nothing was', () => {
    const alarms = [
      alarm('fall', '2026-11-22T23:59:59.999Z'),
      alarm('noise', '2026-11-22T21:00:00Z'),
      alarm('fall', '2026-11-22T21:30:00Z'),
      alarm('fall', '2026-11-22T21:31:00Z'),
    ];
    const fromMs = Date.parse('2026-11-22T20:15:00Z');
    const buckets = countAlarms(alarms, 'hour', fromMs, Date.parse('2026-11-23T00:00:00Z'));
    expect(countsOf(buckets)).toEqual([
      ['2026-11-22T20:00:00.000Z', 0],
      ['2026-11-22T21:00:00.000Z', 3],
      ['2026-11-22T22:00:00.000Z', 0],
      ['2026-11-22T23:00:00.000Z', 1],
    ]);
    expect(buckets[1]?.byKind).toEqual({ fall: 2, noise: 1 });
  });

  it('counts by the days of the reader, of 25 hours when the clocks go back', () => {
    const alarms = [
      alarm('fall', '2026-10-24T21:59:59Z'),
      alarm('fall', '2026-10-24T22:00:00Z'),
      alarm('fall', '2026-10-25T22:59:59Z'),
      alarm('fall', '2026-10-25T23:00:00Z'),
    ];
    const fromMs = Date.parse('2026-10-24T10:00:00Z');
    const buckets = countAlarms(alarms, 'day', fromMs, Date.parse('2026-10-26T10:00:00Z'));
    expect(countsOf(buckets)).toEqual([
      ['2026-10-23T22:00:00.000Z', 1],
      ['2026-10-24T22:00:00.000Z', 2],
      ['2026-10-25T23:00:00.000Z', 1],
    ]);
  });

  it('keeps apart the two hours with one name when the clocks go back', () => {
    const alarms = [alarm('fall', '2026-10-25T00:30:00Z'), alarm('noise', '2026-10-25T01:30:00Z')];
    const fromMs = Date.parse('2026-10-25T00:00:00Z');
    const buckets = countAlarms(alarms, 'hour', fromMs, fromMs + 2 * HOUR_MS);
    expect(buckets.map(({ byKind }) => byKind)).toEqual([{ fall: 1 }, { noise: 1 }]);
  });

  it('leaves out the oldest when there are too many hours', () => {
    const toMs = Date.parse('2026-11-23T00:00:00Z');
    const fromMs = toMs - 1_000 * HOUR_MS;
    const alarms = [alarm('fall', '2026-11-22T23:30:00Z'), alarm('fall', '2026-10-15T00:00:00Z')];
    const buckets = countAlarms(alarms, 'hour', fromMs, toMs);
    expect(buckets).toHaveLength(MAX_BUCKETS.hour);
    expect(buckets.at(-1)?.total).toBe(1);
    expect(buckets.reduce((sum, { total }) => sum + total, 0)).toBe(1);
    expect([fits('hour', fromMs, toMs), fits('day', fromMs, toMs)]).toEqual([false, true]);
  });
});
