import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AuditAction } from '../../../src/site/audit-trail.js';
import { AuditRecords } from '../../../src/store/audit/records.js';
import { makeChange } from '../../../src/store/site/change.js';
import { Store } from '../../../src/store/store.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { AuditWorld, entries, entry, query, readAll, upTo } from './audit-world.js';

const place = useRedis();
const open = () => new AuditWorld(place.socketPath);
const DENIAL = { action: 'permission.refused' } as const;

const ACTIONS: readonly AuditAction[] = [
  'device.created',
  'room.moved',
  'permission.refused',
  'authentication.refused',
];
const PLACES = ['l1', 'l2', null];
/** More than one read of a stream returns, so that reads of the two streams end at different numbers. */
const drafts = fc.array(
  fc.record({
    action: fc.constantFrom(...ACTIONS),
    atMs: fc.integer({ min: 0, max: 9 }),
    locationId: fc.constantFrom(...PLACES),
    resourceId: fc.constantFrom('r1', 'r2', null),
    target: fc.constantFrom(...PLACES),
    times: fc.constantFrom(1, 1, 1, 150, 250),
  }),
  { maxLength: 12 },
);
const queries = fc.record({
  actions: fc.subarray([...ACTIONS], { minLength: 1 }),
  afterMs: fc.option(fc.integer({ min: -1, max: 10 }), { nil: undefined }),
  beforeMs: fc.option(fc.integer({ min: -1, max: 10 }), { nil: undefined }),
  locationId: fc.constantFrom('l1', undefined),
  resourceId: fc.constantFrom('r1', undefined),
  order: fc.constantFrom('asc', 'desc'),
  limit: fc.integer({ min: 20, max: 100 }),
});

describe('pages of the audit trail', () => {
  it('show the records that existed at the first page, each once, in order, whatever is added', async () => {
    await fc.assert(
      fc.asyncProperty(drafts, drafts, queries, async (before, late, chosen) => {
        const { trail, redis } = open();
        const asEntries = (some: typeof before) =>
          some.flatMap(({ target, times, ...rest }) => {
            const details = { targetLocationId: target };
            return Array.from({ length: times }, () => entry(rest.atMs, { ...rest, details }));
          });
        const written = asEntries(before);
        await trail.record(written);
        const lateOnes = asEntries(late);
        const pages = await readAll(trail, query(chosen), async () => {
          await trail.record(lateOnes.splice(0, 10));
        });
        redis.disconnect();
        const { actions, afterMs = -1, beforeMs = 10, locationId, resourceId } = chosen;
        const expected = written
          .map((one, index) => ({ ...one, sequence: index + 1 }))
          .filter(
            ({ action, atMs }) => actions.includes(action) && atMs > afterMs && atMs < beforeMs,
          )
          .filter(
            ({ locationId: of, details }) =>
              !locationId || [of, details['targetLocationId']].includes(locationId),
          )
          .filter((one) => !resourceId || one.resourceId === resourceId)
          .map(({ sequence }) => sequence);
        if (chosen.order === 'desc') expected.reverse();
        expect(pages.flatMap(({ records }) => records.map((one) => one.sequence))).toEqual(
          expected,
        );
        const lengths = pages.map(({ records }) => records.length);
        for (const length of lengths.slice(0, -1)) expect(length).toBe(chosen.limit);
        if (pages.length > 1) expect(lengths.at(-1)).toBeGreaterThan(0);
      }),
      { numRuns: 40 },
    );
  });

  it('are full even when a filter omits thousands in between', async () => {
    const { trail } = open();
    const actor = { type: 'access-token', id: 'rare', address: null, requestId: null } as const;
    for (let batch = 0; batch < 30; batch++) {
      await trail.record([entry(batch * 100, { actor }), ...entries(99, batch * 100 + 1)]);
    }
    const pages = await readAll(trail, query({ actorId: 'rare', order: 'asc', limit: 15 }));
    expect(pages.map(({ records }) => records.length)).toEqual([15, 15]);
    const times = pages.flatMap(({ records }) => records.map(({ atMs }) => atMs));
    expect(times).toEqual(Array.from({ length: 30 }, (_, batch) => batch * 100));
  });

  it('are shorter when more than 10,000 records lie in between, and lead to the next', async () => {
    const { trail } = open();
    const actor = { type: 'access-token', id: 'rare', address: null, requestId: null } as const;
    await trail.record([entry(0, { actor }), ...entries(24_999, 1)]);
    for (const order of ['asc', 'desc'] as const) {
      const pages = await readAll(trail, query({ actorId: 'rare', order }));
      const lengths = pages.map(({ records }) => records.length);
      expect(lengths).toEqual(order === 'asc' ? [1, 0, 0] : [0, 0, 1]);
      const ends = pages.map(({ next }) => next);
      expect(ends).toEqual([...(order === 'asc' ? [10_000, 20_000] : [15_001, 5_001]), undefined]);
    }
  });

  it('preserve all characters', async () => {
    const { trail } = open();
    const text = '"\\\u0000/]}\n\u2028\u{1F480} Größe';
    const actor = { type: 'device', id: 'd', address: '::1', requestId: text } as const;
    const written = entry(7, {
      actor,
      locationId: 'l',
      resourceId: 'r',
      details: { a: text, b: null },
    });
    await trail.record([written, entry(8, { details: { path: 'cut \ud83d' } })]);
    const { records } = await trail.page(query({ order: 'asc', locationId: 'l' }));
    expect(records).toEqual([{ ...written, sequence: 1 }]);
    const all = await trail.page(query());
    expect(all.records[0]?.details).toEqual({ path: 'cut \ufffd' });
  });
});

it('finds the URLs of a device among others, with or without devices/ before its keys', async () => {
  const world = open();
  const keys = (...all: string[]) => ({ details: { keys: JSON.stringify(all) } });
  await world.trail.record([
    entry(1, keys('a/1.mp4', 'b/1.mp4')),
    entry(2, keys('devices/a/2.mp4', 'b/2.mp4')),
    entry(3, keys('b/devices/a/3.mp4', 'b/a/4.mp4')),
  ]);
  expect(await world.numbers({ resourceId: 'a' })).toEqual([1, 2]);
});

it('shows all records except unreadable ones, such as an action of a later version', async () => {
  const world = open();
  const { trail, redis, keys, logged } = world;
  await trail.record(entries(3));
  const later = JSON.stringify({ ...entry(4), action: 'tea.served' });
  await redis.xadd(keys.auditChanges, '4-0', 'at', 4, 'steady', 4, 'record', later);
  await redis.xadd(keys.auditDenials, '5-0', 'at', 5, 'steady', 5, 'record', 'no JSON');
  await redis.xadd(keys.auditDenials, '6-0', 'other', 'fields');
  expect(await world.numbers()).toEqual([1, 2, 3]);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toMatch(/"sequences":\[4,5,6\],.*failed to read audit records/);
});

describe('a record', () => {
  it.each(['lost', 'set back', 'overwritten'])(
    'has a new number when the counter was %s',
    async (how) => {
      const world = open();
      const { trail, redis, keys } = world;
      await trail.record([...entries(3), ...entries(3, 3, DENIAL)]);
      await redis.del(keys.auditSequence);
      if (how === 'set back') await redis.set(keys.auditSequence, 2);
      if (how === 'overwritten') await redis.hset(keys.auditSequence, 'a', 'b');
      await trail.record([entry(6), entry(7, DENIAL)]);
      expect(await world.numbers()).toEqual(upTo(8));
      expect(await redis.get(keys.auditSequence)).toBe('8');
    },
  );

  it('is not written, and neither is its change, when a stream has another type', async () => {
    const { redis, keys } = open();
    const records = [new AuditRecords(() => 0).of(entry(1))];
    const writes = [['HSET', keys.lastSeen, 'device', '1'] as const];
    for (const key of [keys.auditChanges, keys.auditDenials]) {
      await redis.set(key, 'overwritten');
      await expect(makeChange(new Store(redis), keys, { writes, records })).rejects.toThrow();
      expect(await redis.exists(keys.lastSeen, keys.auditSequence)).toBe(0);
      await redis.del(key);
    }
    expect(await makeChange(new Store(redis), keys, { writes, records })).toBe(true);
    expect(await redis.exists(keys.lastSeen, keys.auditSequence, keys.auditChanges)).toBe(3);
  });
});
