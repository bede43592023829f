import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useRedis } from '../http/harness.js';
import { AuditWorld, entries, entry, query, SET } from './audit-world.js';

const place = useRedis();

/** Where the records are when they get too old, and how large the files are. */
const PLACES = [
  { where: 'in the store', moved: 'none', segmentBytes: 1 },
  { where: 'in a file', moved: 'all', segmentBytes: 100_000 },
  { where: 'in a file each', moved: 'all', segmentBytes: 1 },
  { where: 'in files, after a restart', moved: 'restarted', segmentBytes: 5_000 },
] as const;
type Place = (typeof PLACES)[number];

async function settled(world: AuditWorld, { moved }: Place): Promise<AuditWorld> {
  if (moved === 'none') return world;
  await world.move();
  expect(await world.storedCount()).toBe(0);
  return moved === 'all' ? world : world.restarted();
}

function open({ segmentBytes }: Place): AuditWorld {
  return new AuditWorld(place.socketPath, { segmentBytes });
}

async function times({ trail }: AuditWorld): Promise<number[]> {
  const { records } = await trail.page(query({ order: 'asc' }));
  return records.map(({ atMs }) => atMs % SET);
}

it.each(PLACES)('forgets what is too old, and nothing else, $where', async (one) => {
  const begun = open(one);
  for (let batch = 0; batch < 3; batch++) await begun.trail.record(entries(70, SET + batch * 70));
  const moved = [3, 400].map((ms) => entry(SET + ms, { action: 'room.moved' }));
  await begun.trail.record(moved);
  const world = await settled(begun, one);
  expect(await world.removeOld(308)).toBe(209);
  expect(await times(world)).toEqual([208, 209, 400]);
  expect(await world.removeOld(309)).toBe(1);
  expect(await times(world)).toEqual([209, 400]);
  expect(await world.removeOld(309)).toBe(0);
  // The next gateway knows no more than the names of the files.
  const next = world.restarted();
  expect(await next.removeOld(309)).toBe(0);
  expect(await next.removeOld(500)).toBe(1);
  expect(await times(next)).toEqual([400]);
  await next.trail.record([entry(SET + 450)]);
  expect(await next.removeOld(501)).toBe(1);
  expect(next.files()).toEqual([]);
  expect(await times(next)).toEqual([450]);
  expect(next.health.faults()).toEqual([]);
});

it.each(PLACES)('does not take what an unset clock has written for old, $where', async (one) => {
  const begun = open(one);
  const { trail } = begun;
  await trail.record([entry(5), entry(SET + 50), entry(6, { action: 'room.moved' }), entry(7)]);
  await trail.record([entry(SET + 60), entry(8), entry(SET + 120)]);
  const world = await settled(begun, one);
  expect(await world.removeOld(120)).toBe(0);
  expect(await world.removeOld(155)).toBe(2);
  expect(await times(world)).toEqual([6, 7, 8, 60, 120]);
  expect(await world.removeOld(165)).toBe(3);
  expect(await times(world)).toEqual([8, 120]);
  const next = world.restarted();
  await next.archiver.prepare();
  expect(await times(next)).toEqual([8, 120]);
});

it.each(PLACES)('is not misled by a clock that is years ahead, $where', async (one) => {
  const begun = open(one);
  await begun.trail.record([entry(SET), entry(SET + 1)]);
  const world = await settled(begun, one);
  const retention = world.retentionAt(1e9);
  const { signal } = new AbortController();
  expect(await retention.removeOld(signal)).toBe(0);
  await world.trail.record([entry(SET + 1e9)]);
  expect(await retention.removeOld(signal)).toBe(0);
  expect(await times(world)).toHaveLength(3);
});

it('leaves of a file that straddles the boundary what is younger, for its own user only', async () => {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await world.trail.record(entries(20, SET));
  await world.move();
  const [file = '', ...others] = world.files();
  expect(others).toEqual([]);
  const before = statSync(file);
  expect(await world.removeOld(110)).toBe(10);
  expect(world.files()).toEqual([file]);
  expect(statSync(file).size).toBeLessThan(before.size);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect([...(await world.archivedCounts()).values()]).toEqual(Array(10).fill(1));
});

it('removes a file that cannot be read once all of it is old, and not before', async () => {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  // Its time is over with that of the file that comes after it.
  await world.trail.record([entry(5, { action: 'room.moved' })]);
  await world.trail.record(entries(20, SET));
  await world.move();
  await world.trail.record([entry(SET + 20)]);
  const files = world.files();
  const [file = ''] = files;
  writeFileSync(file, readFileSync(file).subarray(0, 30));
  const next = world.restarted();
  expect(await next.removeOld(110)).toBe(0);
  expect(next.health.faults()).toEqual(['Files of the audit trail cannot be read: 1.']);
  expect(next.files()).toEqual(files);
  expect(await next.removeOld(119)).toBe(0);
  expect(next.files()).toEqual(files);
  await next.removeOld(120);
  expect(next.files()).toEqual([]);
  expect(next.health.faults()).toEqual([]);
});

it('removes from the store while the archive cannot be looked at, and from the archive afterwards', async () => {
  const begun = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await begun.trail.record(entries(20, SET));
  await begun.move();
  await begun.trail.record([...entries(20, SET + 20), entry(SET + 150)]);
  const world = begun.restarted();
  const inTheWay = join(world.directory, 'room.moved');
  writeFileSync(inTheWay, 'a file in its place');
  const retention = world.retentionAt(160);
  const { signal } = new AbortController();
  await expect(retention.removeOld(signal)).rejects.toThrow('insufficient-storage');
  expect(await times(world)).toEqual([150]);
  rmSync(inTheWay);
  expect(await retention.removeOld(signal)).toBe(20);
  expect(world.files()).toEqual([]);
  expect(await times(world)).toEqual([150]);
});

it('removes all the others when a file cannot be removed, tells of it, and tries it again', async () => {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 500 });
  await world.trail.record([entry(5, { action: 'room.moved' }), ...entries(20, SET)]);
  await world.move();
  await world.trail.record([...entries(20, SET + 20), entry(SET + 150)]);
  await world.trail.record([entry(6), entry(SET + 151, { action: 'room.moved' })]);
  const files = world.files();
  expect(files.length).toBeGreaterThan(4);
  const [stuck = ''] = files;
  const bytes = readFileSync(stuck);
  rmSync(stuck);
  mkdirSync(stuck);
  const next = world.restarted();
  const retention = next.retentionAt(160);
  const { signal } = new AbortController();
  await expect(retention.removeOld(signal)).rejects.toThrow('insufficient-storage');
  expect(next.files()).toEqual([]);
  expect(next.health.faults()).toEqual(['Files of the audit trail cannot be read: 1.']);
  expect(await times(next)).toEqual([6, 150, 151]);
  rmSync(stuck, { recursive: true });
  writeFileSync(stuck, bytes);
  expect(await retention.removeOld(signal)).toBeGreaterThan(0);
  expect(next.files()).toEqual([]);
  expect(next.health.faults()).toEqual([]);
});

it('tries again what an unset clock has written and could not be removed with the others', async () => {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await world.trail.record([entry(5, { action: 'room.moved' })]);
  await world.trail.record([entry(6, { action: 'room.created' }), entry(SET)]);
  await world.move();
  await world.trail.record([entry(SET + 150)]);
  const retention = world.retentionAt(160);
  const { signal } = new AbortController();
  const [stuck = ''] = world.files().filter((file) => file.includes('room.moved'));
  const bytes = readFileSync(stuck);
  rmSync(stuck);
  mkdirSync(stuck);
  await expect(retention.removeOld(signal)).rejects.toThrow('insufficient-storage');
  expect(world.files()).toEqual([]);
  rmSync(stuck, { recursive: true });
  writeFileSync(stuck, bytes);
  expect(await times(world)).toEqual([5, 150]);
  expect(await retention.removeOld(signal)).toBe(1);
  expect(await times(world)).toEqual([150]);
});
