import { expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { AuditWorld, entries, entry, upTo } from './audit-world.js';

const place = useRedis();
const YEARS_MS = 1e11;
const DENIALS = { action: 'authentication.refused' } as const;
/** Redis removes whole nodes of a stream, with at most 100 entries each. */
const ENTRIES_PER_NODE = 100;

it('removes records that are too old by the steady clock, and no others', async () => {
  const world = new AuditWorld(place.socketPath);
  const { trail } = world;
  // By the machine's clock some of these are years older or younger.
  await trail.record([entry(5), entry(YEARS_MS), entry(-YEARS_MS, DENIALS), entry(6, DENIALS)]);
  world.nowMs = 50;
  await trail.record([...entries(1_500, -YEARS_MS), ...entries(1_500, YEARS_MS, DENIALS)]);
  world.nowMs = 60;
  await trail.record([entry(0, DENIALS)]);
  expect(await world.removeOld(100)).toBe(0);
  expect(await world.removeOld(101)).toBe(4);
  expect(await world.removeOld(101)).toBe(0);
  expect(await world.numbers()).toEqual(upTo(3_005).slice(4));
  expect(await world.removeOld(151)).toBe(3_000);
  expect(await world.numbers()).toEqual([3_005]);
  expect(await world.removeOld(161)).toBe(1);
  // Numbers are not given again.
  await trail.record([entry(0)]);
  expect(await world.numbers()).toEqual([3_006]);
});

it('keeps every change, however many denials there are, and the newest 100,000 denials', async () => {
  const world = new AuditWorld(place.socketPath);
  const { trail, redis, keys } = world;
  await trail.record(entries(20));
  for (let batch = 0; batch < 11; batch++) await trail.record(entries(10_000, 0, DENIALS));
  expect(await redis.xlen(keys.auditChanges)).toBe(20);
  const denials = await redis.xlen(keys.auditDenials);
  expect(denials).toBeGreaterThanOrEqual(100_000);
  expect(denials).toBeLessThanOrEqual(100_000 + ENTRIES_PER_NODE);
  const [newest] = await redis.xrevrange(keys.auditDenials, '+', '-', 'COUNT', 1);
  expect(newest?.[0]).toBe('110020-0');
});
