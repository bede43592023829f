import { expect, it } from 'vitest';
import { DrillSchedule, drillsSchema } from '../../src/domain/time/drill-schedule.js';

/** The moments of a daily drill within a time range, found by looking every ten minutes. */
function moments(at: string, from: string, to: string): string[] {
  const schedule = new DrillSchedule({ at, timeZone: 'Europe/Berlin' });
  const found = new Set<number>();
  for (let timeMs = Date.parse(from); timeMs <= Date.parse(to); timeMs += 600_000) {
    found.add(schedule.lastDueMs(timeMs));
  }
  return [...found].slice(1).map((timeMs) => new Date(timeMs).toISOString().slice(0, 16));
}

it('runs once a day, even on the nights when the clocks change', () => {
  expect(moments('03:30', '2026-03-27T12:00Z', '2026-03-30T12:00Z')).toEqual([
    '2026-03-28T02:30',
    '2026-03-29T01:30',
    '2026-03-30T01:30',
  ]);
  expect(moments('03:30', '2026-10-23T12:00Z', '2026-10-26T12:00Z')).toEqual([
    '2026-10-24T01:30',
    '2026-10-25T02:30',
    '2026-10-26T02:30',
  ]);
});

it('runs an hour later when the clocks skip its time, and the first time when they repeat it', () => {
  expect(moments('02:30', '2026-03-28T12:00Z', '2026-03-30T12:00Z')).toEqual([
    '2026-03-29T01:30',
    '2026-03-30T00:30',
  ]);
  expect(moments('02:30', '2026-10-24T12:00Z', '2026-10-26T12:00Z')).toEqual([
    '2026-10-25T00:30',
    '2026-10-26T01:30',
  ]);
  expect(moments('00:00', '2026-10-24T12:00Z', '2026-10-26T12:00Z')).toEqual([
    '2026-10-24T22:00',
    '2026-10-25T23:00',
  ]);
});

it('accepts a time of day and a time zone', () => {
  for (const wrong of [
    { at: '24:00', timeZone: 'UTC' },
    { at: '3:30', timeZone: 'UTC' },
    { at: '03:30', timeZone: 'Mars/Base' },
    { at: '03:30' },
  ]) {
    expect(drillsSchema.safeParse([wrong]).success, JSON.stringify(wrong)).toBe(false);
  }
});
