import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AuditAction } from '../../src/site/audit-trail.js';
import { useRedis } from '../harness/shared-redis.js';
import { AuditWorld, entry, numbers, query, readAll } from './audit-world.js';

const place = useRedis();
const open = () => new AuditWorld(place.socketPath);

const ACTIONS: readonly AuditAction[] = ['device.created', 'room.moved', 'footage.url-made'];
const PLACES = ['l1', 'l2', null];
const entries = fc.array(
  fc.record({
    action: fc.constantFrom(...ACTIONS),
    atMs: fc.integer({ min: 0, max: 9 }),
    locationId: fc.constantFrom(...PLACES),
    resourceId: fc.constantFrom('r1', 'r2', null),
    target: fc.constantFrom(...PLACES),
  }),
  { maxLength: 60 },
);
const queries = fc.record({
  actions: fc.subarray([...ACTIONS], { minLength: 1 }),
  afterMs: fc.option(fc.integer({ min: -1, max: 10 }), { nil: undefined }),
  beforeMs: fc.option(fc.integer({ min: -1, max: 10 }), { nil: undefined }),
  locationId: fc.constantFrom('l1', undefined),
  resourceId: fc.constantFrom('r1', undefined),
  order: fc.constantFrom('asc', 'desc'),
  limit: fc.integer({ min: 1, max: 7 }),
});

/** When all records are moved to the disk. */
const movings = fc.constantFrom('never', 'before', 'meanwhile');

describe('pages of the audit trail', () => {
  it('show the records as of the first page, each once, in order, whatever is added', async () => {
    await fc.assert(
      fc.asyncProperty(entries, entries, queries, movings, async (before, late, chosen, moving) => {
        const world = open();
        const { trail } = world;
        const asEntries = (drafts: typeof before) =>
          drafts.map(({ target, ...rest }) =>
            entry(rest.atMs, { ...rest, details: { targetLocationId: target } }),
          );
        await trail.record(asEntries(before));
        if (moving === 'before') await world.move();
        const lateOnes = asEntries(late);
        const pages = await readAll(trail, query(chosen), async () => {
          await trail.record(lateOnes.splice(0, 10));
          if (moving === 'meanwhile') await world.move();
        });
        world.redis.disconnect();
        const { actions, afterMs = -1, beforeMs = 10, locationId, resourceId } = chosen;
        const expected = before
          .map((one, index) => ({ ...one, sequence: index + 1 }))
          .filter(
            ({ action, atMs }) => actions.includes(action) && atMs > afterMs && atMs < beforeMs,
          )
          .filter((one) => !locationId || [one.locationId, one.target].includes(locationId))
          .filter((one) => !resourceId || one.resourceId === resourceId)
          .toSorted((one, other) => one.atMs - other.atMs || one.sequence - other.sequence)
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

  it('are full when a filter leaves out thousands in between', async () => {
    const { trail } = open();
    const actor = { type: 'access-token', id: 'rare', address: null, requestId: null } as const;
    for (let batch = 0; batch < 30; batch++) {
      const others = Array.from({ length: 99 }, (_, index) => entry(batch * 100 + index + 1));
      await trail.record([entry(batch * 100, { actor }), ...others]);
    }
    const pages = await readAll(trail, query({ actorId: 'rare', order: 'asc', limit: 15 }));
    expect(pages.map(({ records }) => records.length)).toEqual([15, 15]);
    const times = pages.flatMap(({ records }) => records.map(({ atMs }) => atMs));
    expect(times).toEqual(Array.from({ length: 30 }, (_, batch) => batch * 100));
  });

  it('keep all characters', async () => {
    const { trail } = open();
    const text = '"\\\u0000/]}\u{1F480} Größe';
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

it('shows the URLs of a device among those of others, with or without devices/ before its keys', async () => {
  const { trail } = open();
  const keys = (...all: string[]) => ({ details: { keys: JSON.stringify(all) } });
  await trail.record([
    entry(1, keys('a/1.mp4', 'b/1.mp4')),
    entry(2, keys('devices/a/2.mp4', 'b/2.mp4')),
    entry(3, keys('b/devices/a/3.mp4', 'b/a/4.mp4')),
  ]);
  expect(await numbers(trail, query({ order: 'asc', resourceId: 'a' }))).toEqual([1, 2]);
});

it('shows all records but those that it cannot read, as of an action of a later version', async () => {
  const world = open();
  const { trail, redis, keys, logged } = world;
  await trail.record([entry(1), entry(2), entry(3)]);
  const later = JSON.stringify([{ ...entry(4), action: 'tea.served' }]);
  await redis.xadd(keys.auditLog, '4-0', 'at', 4, 'record', later);
  await redis.xadd(keys.auditLog, '5-0', 'at', 5, 'record', 'no JSON');
  await redis.set(keys.auditSequence, 5);
  for (const _where of ['in the store', 'on the disk']) {
    expect(await numbers(trail)).toEqual([1, 2, 3]);
    await world.move();
  }
  expect(logged.filter((line) => line.includes('failed to read audit records'))).toHaveLength(2);
});
