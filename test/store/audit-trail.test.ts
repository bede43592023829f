import fc from 'fast-check';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { newId } from '../../src/domain/identifiers.js';
import { PLAUSIBLE_FROM_MS } from '../../src/domain/times.js';
import { AuditOverflow } from '../../src/site/audit-overflow.js';
import type { AuditAction, AuditEntry, AuditPage, AuditQuery } from '../../src/site/audit-trail.js';
import { AUDIT_ACTIONS, GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Health } from '../../src/site/health.js';
import { AuditRecords } from '../../src/store/audit-records.js';
import { AuditRetention } from '../../src/store/audit-retention.js';
import { AuditTrailRedis } from '../../src/store/audit-trail-redis.js';
import { Keys } from '../../src/store/keys.js';
import { useRedis } from '../http/harness.js';

const place = useRedis();
const MAX_PER_ACTION = 5_000;

let redis: Redis;

beforeEach(() => {
  redis = new Redis({ path: place.socketPath });
  onTestFinished(() => redis.disconnect());
});

function open(maxPerAction = MAX_PER_ACTION) {
  const keys = new Keys(newId());
  const health = new Health();
  const overflow = new AuditOverflow(health, pino({ enabled: false }));
  onTestFinished(() => overflow.stop());
  const records = new AuditRecords(keys, maxPerAction, overflow);
  return { keys, health, overflow, trail: new AuditTrailRedis(redis, keys, records) };
}

function entry(atMs: number, changes: Partial<AuditEntry> = {}): AuditEntry {
  return {
    action: 'device.created',
    actor: GATEWAY_ACTOR,
    atMs,
    locationId: null,
    resourceId: null,
    details: {},
    ...changes,
  };
}

function query(changes: Partial<AuditQuery> = {}): AuditQuery {
  return {
    actions: AUDIT_ACTIONS,
    beforeMs: undefined,
    afterMs: undefined,
    locationId: undefined,
    actorId: undefined,
    resourceId: undefined,
    order: 'desc',
    limit: 100,
    upToSequence: undefined,
    position: undefined,
    ...changes,
  };
}

/** Every page there is, with what is done between two of them. */
async function readAll(
  trail: AuditTrailRedis,
  asked: AuditQuery,
  between: () => Promise<void> = () => Promise.resolve(),
) {
  const pages: AuditPage[] = [];
  for (let page: AuditPage | undefined; page === undefined || page.next !== undefined; ) {
    page = await trail.page({ ...asked, upToSequence: page?.upToSequence, position: page?.next });
    pages.push(page);
    await between();
  }
  return pages;
}

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

describe('pages of the audit trail', () => {
  it('show what there was at the first of them, each once, in order, whatever comes', async () => {
    await fc.assert(
      fc.asyncProperty(entries, entries, queries, async (before, late, chosen) => {
        const { trail } = open();
        const asEntries = (drafts: typeof before) =>
          drafts.map(({ target, ...rest }) =>
            entry(rest.atMs, { ...rest, details: { targetLocationId: target } }),
          );
        await trail.record(asEntries(before));
        const lateOnes = asEntries(late);
        const pages = await readAll(trail, query(chosen), async () => {
          const [next] = lateOnes.splice(0, 1);
          if (next !== undefined) await trail.record([next]);
        });
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
      { numRuns: 150 },
    );
  }, 60_000);

  it('are full also when a filter leaves out thousands in between', async () => {
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

  it('hold what was written, whatever characters are in it', async () => {
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

describe('the audit trail', () => {
  it('keeps the newest of each action: none pushes another out', async () => {
    const { trail, health, overflow } = open(3);
    await trail.record([entry(1, { action: 'access-token.created' })]);
    expect(health.faults()).toEqual([]);
    const made = [5, 9, 6, 8, 7].map((atMs) => entry(atMs, { action: 'footage.url-made' }));
    await trail.record(made);
    const { records } = await trail.page(query({ order: 'asc' }));
    expect(records.map(({ atMs }) => atMs)).toEqual([1, 7, 8, 9]);
    expect([...overflow.counts]).toEqual([['footage.url-made', 2]]);
    expect(health.faults()).toEqual(['Audit records fall out before their time: too many.']);
  });

  it('forgets what is too old, and nothing else', async () => {
    const { keys, trail } = open();
    for (let batch = 0; batch < 3; batch++) {
      const old = Array.from({ length: 700 }, (_, index) => entry(SET + batch * 700 + index));
      await trail.record(old);
    }
    const moved = [3, 4000].map((ms) => entry(SET + ms, { action: 'room.moved' }));
    await trail.record(moved);
    expect(await removeOld(keys, 2198)).toBe(2099);
    const { records } = await trail.page(query());
    expect(records.map(({ atMs }) => atMs - SET)).toEqual([4000, 2099, 2098]);
    expect(await removeOld(keys, 4100)).toBe(2);
    expect(await removeOld(keys, 4101)).toBe(0);
  });

  it('does not take what was written before the clock was set for old', async () => {
    const { keys, trail } = open();
    await trail.record([entry(5), entry(SET + 50), entry(6, { action: 'room.moved' }), entry(7)]);
    await trail.record([entry(SET + 60), entry(8), entry(SET + 500)]);
    const left = async () =>
      (await trail.page(query({ order: 'asc' }))).records.map(({ atMs }) => atMs % SET);
    expect(await removeOld(keys, 120)).toBe(0);
    expect(await removeOld(keys, 155)).toBe(2);
    expect(await left()).toEqual([6, 7, 8, 60, 500]);
    expect(await removeOld(keys, 165)).toBe(3);
    expect(await left()).toEqual([8, 500]);
  });

  it('is not erased by a clock that is years ahead, whatever is written by it', async () => {
    const { keys, trail } = open();
    await trail.record([entry(SET), entry(SET + 1)]);
    const retention = retentionAt(keys, 1e9);
    const { signal } = new AbortController();
    expect(await retention.removeOld(signal)).toBe(0);
    await trail.record([entry(SET + 1e9)]);
    expect(await retention.removeOld(signal)).toBe(0);
    expect((await trail.page(query())).records).toHaveLength(3);
  });
});

/** The beginning of what may be a time. */
const SET = PLAUSIBLE_FROM_MS;

function retentionAt(keys: Keys, nowMs: number): AuditRetention {
  const log = pino({ enabled: false });
  return new AuditRetention({ redis, keys, maxAgeMs: 100, now: () => SET + nowMs, log });
}

/** As a gateway that starts so long after `SET` does. */
function removeOld(keys: Keys, nowMs: number): Promise<number> {
  return retentionAt(keys, nowMs).removeOld(new AbortController().signal);
}
