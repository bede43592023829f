import { expect, it } from 'vitest';
import type { AlarmKind } from '../../../src/domain/alarms.js';
import { newId } from '../../../src/domain/notation.js';
import type { AlarmQuery, AlarmRecord } from '../../../src/site/alarms/alarm-history.js';
import { AlarmRetention } from '../../../src/store/alarms/alarm-retention.js';
import { Store } from '../../../src/store/store.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { AlarmWorld } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);
const ALARMS = 1_500;

interface Recorded {
  readonly id: string;
  readonly atMs: number;
  readonly kind: AlarmKind;
}

/** Alarms of two kinds: most in the order of detection, many at the same time, some far too late. */
function planned(): Recorded[] {
  return Array.from({ length: ALARMS }, (_, number) => {
    const lateMs = number % 10 === 3 ? 100 * ((number * 7) % 130) : 0;
    const atMs = START_MS + 100 * Math.floor(number / (number % 400 < 50 ? 50 : 3)) - lateMs;
    return { id: newId(), atMs, kind: number % 5 === 0 ? 'noise' : 'fall' };
  });
}

async function record(world: AlarmWorld, alarms: readonly Recorded[]): Promise<void> {
  for (let at = 0; at < alarms.length; at += 100) {
    const batch = alarms.slice(at, at + 100).map(({ id, kind, atMs }, number) => {
      const detectedAt = new Date(atMs).toISOString();
      return world.alarm({ id, kind, detectedAt }, START_MS + at + number);
    });
    await world.logs.append(batch);
  }
}

/** Follows the pages of a query from its first to its last. */
async function listed(world: AlarmWorld, query: Partial<AlarmQuery>): Promise<string[]> {
  const all: AlarmRecord[] = [];
  // More alarms have the same time than fit on a short page.
  const limit = query.order === 'desc' ? 13 : 97;
  let page = await world.page({ limit, ...query });
  for (;;) {
    all.push(...page.alarms);
    const { next: position, upToSequence } = page;
    if (position === undefined) return all.map(({ id }) => id);
    page = await world.page({ limit, ...query, position, upToSequence });
  }
}

/** Compares listings in both orders, with and without bounds, with the recorded alarms. */
async function expectListings(world: AlarmWorld, alarms: readonly Recorded[]): Promise<void> {
  // A sort keeps the order of alarms with equal times.
  const sorted = [...alarms].sort((one, other) => one.atMs - other.atMs);
  const [afterMs, beforeMs] = [sorted[300]?.atMs, sorted.at(-300)?.atMs];
  for (const deviceIds of [undefined, [world.deviceId]]) {
    for (const bounds of [{}, { afterMs, beforeMs }]) {
      for (const kinds of [['fall', 'noise'], ['noise']] satisfies AlarmKind[][]) {
        const { afterMs: after = 0, beforeMs: before = Number.POSITIVE_INFINITY } = bounds;
        const ids = sorted
          .filter(
            ({ atMs, kind }) => atMs > after && atMs < before && kinds.some((one) => one === kind),
          )
          .map(({ id }) => id);
        const query = { deviceIds, kinds, ...bounds };
        expect(await listed(world, { ...query, order: 'asc' })).toEqual(ids);
        expect(await listed(world, { ...query, order: 'desc' })).toEqual(ids.reverse());
      }
    }
  }
}

async function removeUpTo({ redis, keys }: AlarmWorld, count: number): Promise<void> {
  const now = () => START_MS + count;
  const retention = new AlarmRetention({
    store: new Store(redis),
    keys,
    maxAgeMs: 0,
    now,
    queuedFrom: () => Promise.resolve(Number.POSITIVE_INFINITY),
  });
  await retention.removeOld(new AbortController().signal);
}

it('lists every alarm in its place, however many share the same time', async () => {
  const world = new AlarmWorld(place);
  const alarms = planned();
  await record(world, alarms);
  await expectListings(world, alarms);
});

it('lists what remains while alarms expire, and leaves nothing behind', async () => {
  const world = new AlarmWorld(place);
  const alarms = planned();
  await record(world, alarms);
  await removeUpTo(world, 700);
  await expectListings(world, alarms.slice(700));
  await removeUpTo(world, Number.MAX_SAFE_INTEGER - START_MS);
  expect(await world.historyKeys()).toEqual([]);
});
