import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { defaults } from '../../src/console/api/generated.js';
import { readCounts } from '../../src/console/pages/history/chart/alarm-counts.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.parse('2026-11-27T12:00:00Z');

const search = {
  locationId: 'l',
  roomId: '',
  deviceId: '',
  kinds: [],
  states: [],
  isWithoutTests: false,
  fromMs: undefined,
  toMs: undefined,
};
let asked: URLSearchParams[] = [];
/** What the gateway counts by day and by hour. */
let counted: Record<string, { start: string; counts: Record<string, number> }[]> = {};

beforeEach(() => {
  const before = { ...defaults };
  onTestFinished(() => {
    Object.assign(defaults, before);
  });
  asked = [];
  defaults.fetch = async (input) => {
    const query = new URL(String(input), 'http://gateway').searchParams;
    asked.push(query);
    return Response.json({ buckets: counted[query.get('by') ?? ''] });
  };
});

function bucket(startMs: number, counts: Record<string, number> = {}) {
  return { start: new Date(startMs).toISOString(), counts };
}

it('starts with the first day that has an alarm when the search has no start, in one request', async () => {
  const first = NOW_MS - 100 * DAY_MS;
  counted = { day: [bucket(first - DAY_MS), bucket(first, { fall: 2 }), bucket(first + DAY_MS)] };
  const { unit, buckets, hoursFit, isCut } = await readCounts(search, undefined, NOW_MS);
  expect([unit, hoursFit, isCut]).toEqual(['day', false, false]);
  expect(buckets).toEqual([
    { startMs: first, total: 2, byKind: { fall: 2 } },
    { startMs: first + DAY_MS, total: 0, byKind: {} },
  ]);
  expect(asked.map((query) => query.get('by'))).toEqual(['day']);
});

it('counts by hour for the last days, unless days are requested', async () => {
  const first = NOW_MS - DAY_MS;
  counted = { day: [bucket(first, { fall: 1 })], hour: [bucket(first, { fall: 1 })] };
  expect((await readCounts(search, undefined, NOW_MS)).unit).toBe('hour');
  expect((await readCounts(search, 'day', NOW_MS)).unit).toBe('day');
});

it('covers the newest part of a period that is too long', async () => {
  counted = { day: [bucket(NOW_MS - DAY_MS, { noise: 1 })] };
  const long = { ...search, fromMs: NOW_MS - 500 * DAY_MS, toMs: NOW_MS };
  expect(await readCounts(long, 'hour', NOW_MS)).toMatchObject({ isCut: true, unit: 'day' });
  const after = Date.parse(asked[0]?.get('after') ?? '');
  expect(after).toBe(NOW_MS - 399 * DAY_MS - 1);
});

it('includes alarms of unknown kinds from a newer gateway in the total', async () => {
  counted = { day: [bucket(NOW_MS - 30 * DAY_MS, { fall: 1, flood: 2 })] };
  const { buckets } = await readCounts(search, undefined, NOW_MS);
  expect(buckets).toMatchObject([{ total: 3, byKind: { fall: 1 } }]);
});
