import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { AUDIT_ACTIONS } from '../../src/site/audit-trail.js';
import { AuditArchiveRetention } from '../../src/store/audit/archive-retention.js';
import { useRedis } from '../http/harness.js';
import { AuditWorld, entries, entry, SET } from './audit-world.js';

const place = useRedis();
const { signal } = new AbortController();
const YEARS_MS = 1e9;

/** What keeps a gateway that has just started from looking at its audit trail, until it is mended. */
const TROUBLES: readonly { where: string; begin: (world: AuditWorld) => () => Promise<void> }[] = [
  { where: 'nowhere', begin: () => async () => undefined },
  {
    where: 'in the archive',
    begin: ({ directory }) => {
      const inTheWay = join(directory, 'room.moved');
      writeFileSync(inTheWay, 'a file in its place');
      return async () => rmSync(inTheWay);
    },
  },
  {
    where: 'in the store',
    begin: ({ redis }) => {
      redis.disconnect();
      return () => redis.connect();
    },
  },
];

/** A gateway that has started anew, with twenty records in the archive and as many in the store. */
async function started(): Promise<AuditWorld> {
  const begun = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await begun.trail.record(entries(20, SET));
  await begun.move();
  await begun.trail.record(entries(20, SET + 20));
  return begun.restarted();
}

it.each(TROUBLES)('years ahead is not believed later either, trouble $where', async ({ begin }) => {
  const world = await started();
  const retention = world.retentionAt(YEARS_MS);
  const mend = begin(world);
  await retention.removeOld(signal).catch(() => undefined);
  await mend();
  await world.trail.record([entry(SET + YEARS_MS), entry(SET + YEARS_MS + 5)]);
  // Written by this gateway, with the time of its end.
  await world.trail.record([entry(SET + YEARS_MS - 1, { action: 'access-token.expired' })]);
  expect(await retention.removeOld(signal)).toBe(0);
  expect(await retention.removeOld(signal)).toBe(0);
  expect(await world.storedCount()).toBe(23);
  expect((await world.archivedCounts()).size).toBe(20);
});

it.each(TROUBLES)('that is right is believed later, trouble $where', async ({ begin }) => {
  const world = await started();
  await world.trail.record([entry(SET + 140)]);
  const retention = world.retentionAt(200);
  const mend = begin(world);
  await retention.removeOld(signal).catch(() => undefined);
  await mend();
  await world.trail.record([entry(SET + 200)]);
  await retention.removeOld(signal);
  expect(await world.storedCount()).toBe(2);
  expect((await world.archivedCounts()).size).toBe(0);
});

it.each([
  { records: 'no', count: 0 },
  { records: 'too old', count: 20 },
])('is judged by the archive when the store has $records records, once it can be', async (one) => {
  const begun = new AuditWorld(place.socketPath);
  await begun.trail.record([...entries(20, SET), entry(SET + 140, { action: 'room.moved' })]);
  await begun.move();
  await begun.trail.record(entries(one.count, SET + 20));
  const world = begun.restarted();
  const retention = world.retentionAt(200);
  const inTheWay = join(world.directory, 'device.moved');
  writeFileSync(inTheWay, 'a file in its place');
  await expect(retention.removeOld(signal)).rejects.toThrow('insufficient-storage');
  expect(await world.storedCount()).toBe(one.count);
  rmSync(inTheWay);
  expect(await retention.removeOld(signal)).toBe(20 + one.count);
  expect((await world.archivedCounts()).size).toBe(1);
});

it.each([
  { file: 'as it was written', isDamaged: false, newest: 44 },
  { file: 'that is damaged', isDamaged: true, newest: 0 },
])('is judged by what is from before in a file $file that goes on after', async (one) => {
  const begun = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await begun.trail.record([entry(5), ...entries(5, SET + 40), entry(SET + YEARS_MS)]);
  await begun.move();
  const [file = '', ...others] = begun.files();
  expect(others).toEqual([]);
  if (one.isDamaged) writeFileSync(file, 'nothing of the kind');
  const world = begun.restarted();
  expect(await world.removeOld(YEARS_MS)).toBe(0);
  expect(world.files()).toEqual([file]);
  const archive = new AuditArchiveRetention(world.archive);
  const newest = await archive.newestBefore(SET + YEARS_MS, AUDIT_ACTIONS);
  expect(newest).toBe(SET + one.newest);
  expect((await world.archivedCounts()).size).toBe(one.isDamaged ? 0 : 7);
});
