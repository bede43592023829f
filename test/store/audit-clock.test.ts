import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useRedis } from '../harness/shared-redis.js';
import { AuditWorld, entries, entry, SET } from './audit-world.js';

const place = useRedis();
const { signal } = new AbortController();
const YEARS_MS = 1e9;

/** Faults that keep a new gateway from reading its audit trail, until they are repaired. */
const TROUBLES: readonly { where: string; begin: (world: AuditWorld) => () => Promise<void> }[] = [
  { where: 'nowhere', begin: () => async () => undefined },
  {
    where: 'in the archive',
    begin: ({ directory }) => {
      const away = `${directory}.away`;
      renameSync(directory, away);
      writeFileSync(directory, 'a file in its place');
      return async () => {
        rmSync(directory);
        renameSync(away, directory);
      };
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

/** A gateway just started, with twenty records in the archive and as many in the store. */
async function started(): Promise<AuditWorld> {
  const begun = new AuditWorld(place.socketPath, { segmentBytes: 100_000 });
  await begun.trail.record(entries(20, SET));
  await begun.move();
  await begun.trail.record(entries(20, SET + 20));
  return begun.restarted();
}

it.each(TROUBLES)(
  'learns nothing about the age of earlier records from a fault $where',
  async ({ begin }) => {
    const world = await started();
    const retention = world.retentionAt(YEARS_MS);
    const mend = begin(world);
    await retention.removeOld(signal).catch(() => undefined);
    await mend();
    await world.trail.record([entry(SET + YEARS_MS), entry(SET + YEARS_MS + 5)]);
    expect(await retention.removeOld(signal)).toBe(0);
    expect(await world.restarted().removeOld(YEARS_MS + 50)).toBe(0);
    expect(await world.storedCount()).toBe(22);
    expect((await world.archivedCounts()).size).toBe(20);
  },
);

it.each(TROUBLES)(
  'counts the age from the first run on despite a fault $where',
  async ({ begin }) => {
    const world = await started();
    expect(await world.removeOld(YEARS_MS)).toBe(0);
    await world.trail.record([entry(SET)]);
    const retention = world.retentionAt(YEARS_MS + 101);
    const mend = begin(world);
    await retention.removeOld(signal).catch(() => undefined);
    await mend();
    await retention.removeOld(signal);
    expect(await world.storedCount()).toBe(1);
    expect((await world.archivedCounts()).size).toBe(0);
  },
);
