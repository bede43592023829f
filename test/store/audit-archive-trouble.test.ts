import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditArchiver } from '../../src/store/audit/archiver.js';
import { faultTexts } from '../harness/fault-texts.js';
import { useRedis } from '../harness/shared-redis.js';
import { AuditWorld, entries, entry, numbers, upTo } from './audit-world.js';

const place = useRedis();
const UNREADABLE =
  'Audit records cannot be moved to the disk. ' +
  'The directory of the audit trail cannot be read: pages come without the archived records.';
const open = (options = {}) => new AuditWorld(place.socketPath, options);

describe('a gateway that was killed', () => {
  it('between writing a file and emptying the store shows and keeps each record once', async () => {
    const killed = open({ segmentBytes: 3_000 });
    await killed.trail.record(entries(60));
    // The first file is whole; its records stay in the store as well.
    await killed.archive.write(await killed.oldest(15));
    expect(await killed.storedCount()).toBe(60);

    const next = killed.restarted();
    await next.archiver.prepare();
    expect(await numbers(next.trail)).toEqual(upTo(60));
    expect(await next.move()).toBe(60);
    expect(await numbers(next.trail)).toEqual(upTo(60));
    const counts = await next.archivedCounts();
    expect([...counts.keys()].toSorted((one, other) => one - other)).toEqual(upTo(60));
    expect(new Set(counts.values())).toEqual(new Set([1]));
  });

  it('while it was writing a file leaves one draft at most, which the next file replaces', async () => {
    const killed = open({ segmentBytes: 100_000 });
    await killed.trail.record(entries(30));
    await killed.move();
    const files = killed.files();
    const draft = join(killed.directory, 'draft');
    writeFileSync(draft, 'half, and longer than what replaces it'.repeat(1_000));
    const next = killed.restarted();
    await next.archiver.prepare();
    expect(await numbers(next.trail)).toEqual(upTo(30));
    expect(faultTexts(next.health.faults())).toEqual([]);
    await next.trail.record([entry(40)]);
    await next.move();
    expect(next.files()).toHaveLength(files.length + 1);
    expect(next.files()).not.toContain(draft);
    expect(await numbers(next.trail)).toEqual(upTo(31));
  });

  it('numbers new records after the archived ones when the store was emptied meanwhile', async () => {
    const killed = open();
    await killed.trail.record(entries(30));
    await killed.move();
    await killed.redis.del(killed.keys.auditSequence);
    const next = killed.restarted();
    await next.archiver.prepare();
    await next.trail.record([entry(40)]);
    expect(await numbers(next.trail)).toEqual(upTo(31));
  });
});

it('numbers new records after the archived ones when the store is emptied while the gateway runs', async () => {
  const world = open();
  await world.trail.record(entries(30));
  await world.move();
  await world.redis.del(world.keys.auditSequence);
  await world.move();
  await world.trail.record([entry(40)]);
  expect(await numbers(world.trail)).toEqual(upTo(31));
});

describe('a faulty archive', () => {
  it('leaves out a damaged file, reports it, and shows all the rest', async () => {
    const world = open();
    await world.trail.record(entries(60));
    await world.move();
    const files = world.files();
    expect(files.length).toBeGreaterThan(4);
    const [truncated = '', flipped = '', emptied = '', swapped = ''] = files;
    writeFileSync(truncated, readFileSync(truncated).subarray(0, 40));
    writeFileSync(flipped, flippedIn(readFileSync(flipped)));
    writeFileSync(emptied, '');
    rmSync(swapped);
    mkdirSync(swapped);
    const lost = [truncated, flipped, emptied, swapped].flatMap((file) => {
      const [, , lowest = 0, highest = 0] = (file.split('/').at(-1) ?? '')
        .split(/[_.]/)
        .map(Number);
      return upTo(highest).slice(lowest - 1);
    });
    const next = world.restarted();
    await next.archiver.prepare();
    const expected = upTo(60).filter((number) => !lost.includes(number));
    expect(await numbers(next.trail)).toEqual(expected);
    expect(await numbers(next.trail)).toEqual(expected);
    expect(faultTexts(next.health.faults())).toEqual([
      'Files of the audit trail cannot be read: 4.',
    ]);
    expect(next.health.ready()).toBe(true);
    expect(next.logged).toHaveLength(4);
    rmSync(swapped, { recursive: true });
  });

  it('writes the records of a damaged file again as long as the store has them', async () => {
    const killed = open({ segmentBytes: 100_000 });
    await killed.trail.record(entries(20));
    const putBack = await killed.stored();
    await killed.move();
    const [file = ''] = killed.files();
    writeFileSync(file, 'nothing of the kind');
    await putBack();
    const next = killed.restarted();
    expect(await next.move()).toBe(20);
    expect(next.files()).toEqual([file]);
    expect(await numbers(next.trail)).toEqual(upTo(20));
    expect(faultTexts(next.health.faults())).toEqual([]);
  });

  it('keeps everything in the store, and reports a fault, while the disk is full', async ({
    skip,
  }) => {
    const disk = smallDisk();
    if (disk === undefined) return skip('mounting a small file system is not permitted here');
    const world = open({ directory: join(disk, 'audit'), segmentBytes: 100_000 });
    await world.trail.record(entries(100));
    const filler = join(disk, 'filler');
    const schedule = scheduleOf(world);
    spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'], { stdio: 'ignore' });
    await schedule.start();
    await expect
      .poll(() => faultTexts(world.health.faults()))
      .toEqual(['Audit records cannot be moved to the disk.']);
    expect(world.health.ready()).toBe(true);
    expect(await world.storedCount()).toBe(100);
    expect(await numbers(world.trail)).toEqual(upTo(100));
    rmSync(filler);
    await expect.poll(() => faultTexts(world.health.faults())).toEqual([]);
    await expect.poll(() => world.storedCount()).toBe(0);
    expect(await numbers(world.trail)).toEqual(upTo(100));
    expect(world.files()).toHaveLength(1);
    expect(
      world.logged.filter((line) => line.includes('failed to move audit records')),
    ).toHaveLength(1);
  });

  it('works without its directory until it can be created', async () => {
    const base = mkdtempSync(join(tmpdir(), 'gateway-audit-'));
    onTestFinished(() => rmSync(base, { recursive: true, force: true }));
    const directory = join(base, 'audit');
    writeFileSync(directory, 'a file in its place');
    const world = open({ directory });
    await world.trail.record(entries(5));
    const schedule = scheduleOf(world);
    await schedule.start();
    expect(faultTexts(world.health.faults())).toEqual([UNREADABLE]);
    expect(await numbers(world.trail)).toEqual(upTo(5));
    rmSync(directory);
    await expect.poll(() => world.storedCount()).toBe(0);
    await expect.poll(() => faultTexts(world.health.faults())).toEqual([]);
    expect(await numbers(world.trail)).toEqual(upTo(5));
  });
});

it('reads the archive once its directory can be read again', async () => {
  const killed = open();
  await killed.trail.record(entries(30, 0, { action: 'location.created' }));
  await killed.move();
  const away = `${killed.directory}.away`;
  renameSync(killed.directory, away);
  writeFileSync(killed.directory, 'a file in its place');
  const next = killed.restarted();
  await scheduleOf(next).start();
  expect(faultTexts(next.health.faults())).toEqual([UNREADABLE]);
  expect(next.health.ready()).toBe(true);
  expect(await numbers(next.trail)).toEqual([]);
  rmSync(next.directory);
  renameSync(away, next.directory);
  await expect.poll(() => faultTexts(next.health.faults())).toEqual([]);
  expect(next.archive.segments()).toHaveLength(next.files().length);
  expect(await numbers(next.trail)).toEqual(upTo(30));
});

function scheduleOf({ archiver }: AuditWorld): AuditArchiver {
  onTestFinished(() => archiver.stop());
  return archiver;
}

/** The file with one bit changed in the middle, where the compressed records are. */
function flippedIn(bytes: Buffer): Buffer {
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  return bytes;
}

/** A file system of its own, undefined where mounting is not permitted. */
function smallDisk(): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'gateway-audit-disk-'));
  const options = ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk];
  const isMounted = spawnSync('mount', options, { stdio: 'ignore' }).status === 0;
  onTestFinished(() => {
    if (isMounted) spawnSync('umount', ['--lazy', disk], { stdio: 'ignore' });
    rmSync(disk, { recursive: true, force: true });
  });
  return isMounted ? disk : undefined;
}
