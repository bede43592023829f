import { expect, it, onTestFinished } from 'vitest';
import type { AuditArchiver } from '../../src/store/audit/archiver.js';
import { useRedis } from '../harness/shared-redis.js';
import { AuditWorld, entries } from './audit-world.js';

const place = useRedis();

function scheduleOf({ archiver }: AuditWorld): AuditArchiver {
  onTestFinished(() => archiver.stop());
  return archiver;
}

it('moves surplus records at once, and later ones in the next round', async () => {
  const world = new AuditWorld(place.socketPath);
  await world.trail.record(entries(5));
  await scheduleOf(world).start();
  await expect.poll(() => world.storedCount()).toBe(0);
  await world.trail.record(entries(7, 10));
  await expect.poll(async () => (await world.archivedCounts()).size).toBe(12);
  expect(world.logged.join('')).toContain('audit records moved to the disk');
});

it('runs one move at a time; aborts it and starts no other when stopped', async () => {
  const [slow, quick] = [new AuditWorld(place.socketPath), new AuditWorld(place.socketPath)];
  const signals: AbortSignal[] = [];
  let finish: (moved: number) => void = () => undefined;
  slow.archiver.moveOld = (stopping) => {
    signals.push(stopping);
    return new Promise((resolve) => {
      finish = resolve;
    });
  };
  let rounds = 0;
  quick.archiver.moveOld = async () => rounds++;
  const schedule = scheduleOf(slow);
  await schedule.start();
  await scheduleOf(quick).start();
  await expect.poll(() => rounds).toBeGreaterThan(5);
  expect(signals).toHaveLength(1);
  finish(0);
  await expect.poll(() => signals.length).toBe(2);
  schedule.stop();
  expect(signals.at(-1)?.aborted).toBe(true);
  finish(0);
  const roundsSoFar = rounds;
  await expect.poll(() => rounds).toBeGreaterThan(roundsSoFar + 5);
  expect(signals).toHaveLength(2);
});

it('leaves the remaining records when stopped', async () => {
  const world = new AuditWorld(place.socketPath, { segmentBytes: 1_000 });
  await world.trail.record(entries(50));
  const stopping = new AbortController();
  const write = world.archive.write.bind(world.archive);
  world.archive.write = (records) => {
    stopping.abort();
    return write(records);
  };
  const moved = await world.archiver.moveOld(stopping.signal);
  expect(moved).toBeGreaterThan(0);
  expect(await world.storedCount()).toBe(50 - moved);
  expect(world.files()).toHaveLength(1);
});
