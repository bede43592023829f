import { statSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AuditAction } from '../../src/site/audit-trail.js';
import { useRedis } from '../harness/shared-redis.js';
import { AuditWorld, entries, entry, numbers, query, readAll, upTo } from './audit-world.js';

const place = useRedis();
const open = (options = {}) => new AuditWorld(place.socketPath, options);

const ACTIONS: readonly AuditAction[] = ['device.created', 'room.moved', 'footage.url-made'];
const IDS = ['aa', 'bb', 'ä"\n', null];
const id = fc.constantFrom(...IDS);
const drafts = fc.array(
  fc.record({
    action: fc.constantFrom(...ACTIONS),
    atMs: fc.integer({ min: 0, max: 9 }),
    locationId: id,
    resourceId: id,
    actorId: id,
    details: fc.constantFrom<Record<string, string | null>>(
      {},
      { targetLocationId: 'aa' },
      { keys: JSON.stringify(['aa/video/bb.mp4', 'bb/x']) },
      { keys: JSON.stringify(['cc/aa/bb.mp4']), name: 'aa' },
      { name: 'aa "bb/' },
      { targetLocationId: null },
    ),
  }),
  { maxLength: 40 },
);
const wanted = fc.constantFrom('aa', 'bb', 'cc', undefined, undefined, undefined);
const queries = fc.record({
  actions: fc.subarray([...ACTIONS], { minLength: 1 }),
  afterMs: fc.option(fc.integer({ min: -1, max: 10 }), { nil: undefined }),
  beforeMs: fc.option(fc.integer({ min: -1, max: 10 }), { nil: undefined }),
  locationId: wanted,
  resourceId: wanted,
  actorId: wanted,
  order: fc.constantFrom('asc', 'desc'),
  limit: fc.integer({ min: 1, max: 7 }),
});
const asEntries = (some: typeof drafts extends fc.Arbitrary<infer Drafts> ? Drafts : never) =>
  some.map(({ actorId, ...rest }) =>
    entry(rest.atMs, {
      ...rest,
      actor: { type: 'device', id: actorId, address: null, requestId: null },
    }),
  );

describe('the archive on the disk', () => {
  it('answers every query, page by page, as if all records were in the store', async () => {
    // Some of the archived records are still in the store, as after a crash.
    const run = fc.record({
      segmentBytes: fc.integer({ min: 1, max: 3_000 }),
      isForgotten: fc.boolean(),
      isRestarted: fc.boolean(),
      maxSegmentsPerPage: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(drafts, drafts, queries, run, async (first, second, chosen, how) => {
        const stored = open();
        const moved = open({ segmentBytes: how.segmentBytes });
        for (const { trail } of [stored, moved]) await trail.record(asEntries(first));
        const putBack = await moved.stored();
        await moved.move();
        if (how.isForgotten) await putBack();
        for (const { trail } of [stored, moved]) await trail.record(asEntries(second));
        const world = how.isRestarted ? moved.restarted() : moved;
        if (how.isRestarted) await world.archiver.prepare();
        const expected = await readAll(stored.trail, query(chosen));
        expect(await readAll(world.trail, query(chosen))).toEqual(expected);
        const hasty = world.restarted({ maxSegmentsPerPage: how.maxSegmentsPerPage });
        await hasty.archiver.prepare();
        const records = (pages: typeof expected) => pages.flatMap((page) => page.records);
        const inShorterPages = await readAll(hasty.trail, query(chosen));
        expect(records(inShorterPages)).toEqual(records(expected));
        await world.move();
        expect(await world.storedCount()).toBe(0);
        expect(await readAll(world.trail, query(chosen))).toEqual(expected);
        for (const { redis } of [stored, moved, world, hasty]) redis.disconnect();
      }),
      { numRuns: 30 },
    );
  });

  it('is readable for the gateway’s own user only', async () => {
    const world = open();
    await world.trail.record([entry(1)]);
    await world.move();
    const { directory } = world;
    const modes = [directory, ...world.files()].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600]);
  });

  it('keeps all characters', async () => {
    const world = open();
    const text = '"\\\u0000/]}\n\u2028\u{1F480} Größe';
    const actor = { type: 'device', id: 'd', address: '::1', requestId: text } as const;
    const written = entry(7, { actor, resourceId: text, details: { a: text, b: null } });
    await world.trail.record([written]);
    await world.move();
    const { records } = await world.trail.page(query());
    expect(records).toEqual([{ ...written, sequence: 1 }]);
    expect(await world.storedCount()).toBe(0);
  });

  it('takes the oldest records when they take too much memory', async () => {
    const world = open({ maxKeptBytes: 20_000, segmentBytes: 5_000 });
    await world.trail.record(entries(10, 0, { action: 'room.moved' }));
    expect(await world.move()).toBe(0);
    await world.trail.record(entries(100, 0, { details: { keys: 'x'.repeat(1_000) } }));
    const moved = await world.move();
    expect(moved).toBeGreaterThan(80);
    const [oldest] = await world.redis.xrange(world.keys.auditLog, '-', '+', 'COUNT', 1);
    expect(oldest?.[0]).toBe(`${moved + 1}-0`);
    expect(await world.redis.memory('USAGE', world.keys.auditLog)).toBeLessThanOrEqual(20_000);
    expect(
      await numbers(world.trail, query({ order: 'asc', actions: ['device.created'] })),
    ).toEqual(upTo(100).map((number) => number + 10));
    expect(await world.move()).toBe(0);
  });

  it('shows each record once, in order, while records are moved', async () => {
    for (const order of ['asc', 'desc'] as const) {
      const world = open({ segmentBytes: 1_000 });
      for (let batch = 0; batch < 3; batch++) await world.trail.record(entries(100, batch * 100));
      const expected = order === 'asc' ? upTo(300) : upTo(300).reverse();
      const moving = world.move();
      let isMoving = true;
      moving.finally(() => {
        isMoving = false;
      });
      let walks = 0;
      while (isMoving || walks < 2) {
        expect(await numbers(world.trail, query({ order, limit: 11 }))).toEqual(expected);
        walks++;
      }
      expect(await moving).toBe(300);
      expect(await world.storedCount()).toBe(0);
    }
  });

  it.each(['before', 'after'])(
    'hides no record that is moved right %s a reader asks the store',
    async (when) => {
      const world = open();
      await world.trail.record(entries(50));
      const { redis } = world;
      const value = async (key: string, from: string, to: string) => {
        Reflect.deleteProperty(redis, 'xrangeBuffer');
        if (when === 'before') await world.move();
        const answer = await redis.xrangeBuffer(key, from, to);
        if (when === 'after') await world.move();
        return answer;
      };
      Object.defineProperty(redis, 'xrangeBuffer', { value, configurable: true });
      const { records } = await world.trail.page(query({ order: 'asc' }));
      expect(await world.storedCount()).toBe(0);
      expect(records.map(({ sequence }) => sequence)).toEqual(upTo(50));
    },
  );

  it('leaves records newer than the first page out of the later ones', async () => {
    const world = open({ segmentBytes: 100_000 });
    await world.trail.record(entries(20));
    const pages = await readAll(world.trail, query({ order: 'asc', limit: 6 }), async () => {
      await world.trail.record([entry(10)]);
      await world.move();
    });
    const shown = pages.map(({ records }) => records.map(({ sequence }) => sequence));
    expect(shown).toEqual([upTo(6), [7, 8, 9, 10, 11, 12], [13, 14, 15, 16, 17, 18], [19, 20]]);
    expect(await world.storedCount()).toBe(0);
  });

  it('keeps what is moved while retention writes the rest of an old segment anew', async () => {
    const world = open();
    const record = (sequence: number) => ({ sequence, atMs: sequence, text: '[{}]' });
    await Promise.all(upTo(50).map((number) => world.archive.write([record(number)])));
    expect([...(await world.archivedCounts()).keys()].toSorted((a, b) => a - b)).toEqual(upTo(50));
    expect(world.files()).toHaveLength(50);
  });

  it('moves records completely when some of an earlier time are added meanwhile', async () => {
    const world = open({ segmentBytes: 100_000 });
    await world.trail.record(entries(20, 10));
    const write = world.archive.write.bind(world.archive);
    const late = [entry(15), entry(3), entry(40), entry(16)];
    world.archive.write = async (records) => {
      await world.trail.record(late.splice(0));
      await write(records);
    };
    expect(await world.move()).toBe(24);
    const { records } = await world.trail.page(query({ order: 'asc' }));
    expect(records.map(({ atMs }) => atMs)).toEqual([
      ...[3, 10, 11, 12, 13, 14, 15, 15, 16, 16, 17, 18, 19, 20, 21, 22],
      ...[23, 24, 25, 26, 27, 28, 29, 40],
    ]);
    expect(new Set((await world.archivedCounts()).values())).toEqual(new Set([1]));
  });

  it('bounds the cost of a request, however few records match', async () => {
    for (const maxSegmentsPerPage of [1, 3]) {
      const world = open({ segmentBytes: 2_000, maxSegmentsPerPage });
      const actor = { type: 'access-token', id: 'rare', address: null, requestId: null } as const;
      await world.trail.record([entry(0, { actor }), ...entries(300, 1)]);
      await world.move();
      const opened = new Set<unknown>();
      const read = world.archive.read.bind(world.archive);
      world.archive.read = (segment) => {
        opened.add(segment);
        return read(segment);
      };
      let mostOpened = 0;
      const pages = await readAll(world.trail, query({ actorId: 'rare' }), async () => {
        mostOpened = Math.max(mostOpened, opened.size);
        opened.clear();
      });
      expect(pages.flatMap(({ records }) => records.map(({ atMs }) => atMs))).toEqual([0]);
      expect(pages.length).toBeGreaterThan(5);
      const ends = pages.map(({ next }) => next?.atMs ?? 0);
      expect(ends).toEqual(ends.toSorted((one, other) => other - one));
      expect(mostOpened).toBe(maxSegmentsPerPage);
    }
  });
});
