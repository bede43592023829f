import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { AuditEntry } from '../../src/site/audit-trail.js';
import { faultTexts } from '../harness/fault-texts.js';
import { useRedis } from '../harness/shared-redis.js';
import { AuditWorld, entries, entry, query, SET } from './audit-world.js';

const place = useRedis();

/** The places where records are when they get too old, with the size of the files. */
const PLACES = [
  { where: 'in the store', moved: 'none', segmentBytes: 1 },
  { where: 'in a file', moved: 'all', segmentBytes: 100_000 },
  { where: 'in a file each', moved: 'all', segmentBytes: 1 },
  { where: 'in files, after a restart', moved: 'restarted', segmentBytes: 5_000 },
] as const;
type Place = (typeof PLACES)[number];

async function placed(world: AuditWorld, { moved }: Place): Promise<AuditWorld> {
  if (moved === 'none') return world;
  await world.move();
  expect(await world.storedCount()).toBe(0);
  return moved === 'all' ? world : world.restarted();
}

function open({ segmentBytes }: Place): AuditWorld {
  return new AuditWorld(place.socketPath, { segmentBytes });
}

async function kept({ trail }: AuditWorld): Promise<number[]> {
  const { records } = await trail.page(query({ order: 'asc' }));
  return records.map(({ sequence }) => sequence).sort((one, other) => one - other);
}

/** Writes the records at this time by the steady clock. */
async function written(world: AuditWorld, atMs: number, records: readonly AuditEntry[]) {
  await world.trail.record(records);
  expect(await world.removeOld(atMs)).toBe(0);
}

it.each(PLACES)('removes records that are too old, and no others, $where', async (one) => {
  const begun = open(one);
  await written(begun, 0, entries(70, SET));
  await written(begun, 50, entries(70, SET + 50));
  await written(
    begun,
    60,
    [3, 400].map((ms) => entry(SET + ms, { action: 'room.moved' })),
  );
  const world = await placed(begun, one);
  expect(await world.removeOld(100)).toBe(0);
  expect(await world.removeOld(101)).toBe(70);
  expect(await world.storedCount()).toBe(one.moved === 'none' ? 72 : 0);
  expect(await world.removeOld(101)).toBe(0);
  // The next gateway knows no more than the names of the files.
  const next = world.restarted();
  expect(await next.removeOld(150)).toBe(0);
  expect(await next.removeOld(151)).toBe(70);
  expect(await kept(next)).toEqual([141, 142]);
  await next.trail.record([entry(SET + 450)]);
  expect(await next.removeOld(161)).toBe(2);
  expect(next.files()).toEqual([]);
  expect(await kept(next)).toEqual([143]);
  expect(faultTexts(next.health.faults())).toEqual([]);
});

it.each(PLACES)('ignores the wall clock by which records were written, $where', async (one) => {
  const begun = open(one);
  const years = 1e11;
  const first = [entry(5), entry(SET + years), entry(SET), entry(SET - years)];
  await written(begun, 0, first);
  const expiry = { action: 'access-token.expired' } as const;
  await written(begun, 50, [entry(6), entry(SET + years + 1, expiry), entry(SET, expiry)]);
  const world = await placed(begun, one);
  expect(await world.removeOld(100)).toBe(0);
  expect(await world.removeOld(101)).toBe(4);
  expect(await kept(world)).toEqual([5, 6, 7]);
  expect(await world.removeOld(151)).toBe(3);
  expect(world.files()).toEqual([]);
});

it('removes marks that it no longer needs', async () => {
  const world = new AuditWorld(place.socketPath);
  for (let at = 0; at < 300; at++) {
    await world.trail.record([entry(SET)]);
    await world.removeOld(at);
  }
  expect(await world.storedCount()).toBe(101);
  expect(await world.redis.zcard(world.keys.auditMarks)).toBe(102);
  await world.trail.record([entry(SET)]);
  // Less than a 365th of the age later: no mark is made, and one is no longer needed.
  await world.removeOld(299.2);
  expect(await world.redis.zcard(world.keys.auditMarks)).toBe(101);
});

it('rewrites a file that straddles the age limit with its younger records, for its own user only', async () => {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await written(world, 0, entries(10, SET));
  await written(world, 10, entries(10, SET + 10));
  await world.move();
  const [file = '', ...others] = world.files();
  expect(others).toEqual([]);
  const before = statSync(file);
  expect(await world.removeOld(110)).toBe(10);
  const [rewritten = '', ...further] = world.files();
  expect(further).toEqual([]);
  expect(statSync(rewritten).size).toBeLessThan(before.size);
  expect(statSync(rewritten).mode & 0o777).toBe(0o600);
  expect([...(await world.archivedCounts()).values()]).toEqual(Array(10).fill(1));
});

it('removes an unreadable file once all of it is too old, and not before', async () => {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await written(world, 0, entries(10, SET));
  await written(world, 10, entries(10, SET + 10));
  await world.move();
  const files = world.files();
  const [file = ''] = files;
  writeFileSync(file, readFileSync(file).subarray(0, 30));
  const next = world.restarted();
  expect(await next.removeOld(101)).toBe(0);
  expect(faultTexts(next.health.faults())).toEqual(['Files of the audit trail cannot be read: 1.']);
  expect(next.files()).toEqual(files);
  expect(await next.removeOld(110)).toBe(0);
  expect(next.files()).toEqual(files);
  await next.removeOld(111);
  expect(next.files()).toEqual([]);
  expect(faultTexts(next.health.faults())).toEqual([]);
});

it('removes records from the store while the archive is unreadable, and from the archive afterwards', async () => {
  const begun = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await begun.trail.record(entries(20, SET));
  await begun.move();
  await written(begun, 0, entries(20, SET + 20));
  await written(begun, 10, [entry(SET + 150)]);
  const world = begun.restarted();
  const away = `${world.directory}.away`;
  renameSync(world.directory, away);
  writeFileSync(world.directory, 'a file in its place');
  const retention = world.retentionAt(101);
  const { signal } = new AbortController();
  await expect(retention.removeOld(signal)).rejects.toThrow('insufficient-storage');
  expect(await kept(world)).toEqual([41]);
  rmSync(world.directory);
  renameSync(away, world.directory);
  expect(await retention.removeOld(signal)).toBe(20);
  expect(world.files()).toEqual([]);
  expect(await kept(world)).toEqual([41]);
});

it('removes all other files when one cannot be removed, reports that one, and retries', async () => {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 500 });
  await world.trail.record([entry(5, { action: 'room.moved' }), ...entries(20, SET)]);
  await world.move();
  await written(world, 0, entries(20, SET + 20));
  await written(world, 10, [entry(6), entry(SET + 151, { action: 'room.moved' })]);
  const files = world.files();
  expect(files.length).toBeGreaterThan(4);
  const [stuck = ''] = files;
  const bytes = readFileSync(stuck);
  rmSync(stuck);
  mkdirSync(stuck);
  const next = world.restarted();
  const retention = next.retentionAt(101);
  const { signal } = new AbortController();
  await expect(retention.removeOld(signal)).rejects.toThrow('insufficient-storage');
  expect(next.files()).toEqual([]);
  expect(faultTexts(next.health.faults())).toEqual(['Files of the audit trail cannot be read: 1.']);
  expect(await kept(next)).toEqual([42, 43]);
  rmSync(stuck, { recursive: true });
  writeFileSync(stuck, bytes);
  expect(await retention.removeOld(signal)).toBeGreaterThan(0);
  expect(next.files()).toEqual([]);
  expect(faultTexts(next.health.faults())).toEqual([]);
});
