import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { repeat } from '../../../src/releasers.js';
import { Health } from '../../../src/site/health/health.js';
import { StoreHeadroom } from '../../../src/site/health/store-headroom.js';
import { DiskMonitor, lockDataDirectory } from '../../../src/store/data-directory.js';
import { EmbeddedRedis } from '../../../src/store/embedded/embedded-redis.js';
import { faultTexts } from '../../harness/described/fault-texts.js';
import { recordingLog, until } from '../embedded-support.js';

const CHECK_EVERY_MS = 20;

function mount(...args: string[]): boolean {
  return spawnSync('mount', args, { stdio: 'ignore' }).status === 0;
}

const READ_ONLY = 'The disk with the data directory is read-only.';

test('reports a disk that ext4 made read-only after an error, though it looks writable', async ({
  skip,
}) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  const [image, disk] = [join(directory, 'image'), join(directory, 'disk')];
  mkdirSync(disk);
  writeFileSync(image, '');
  truncateSync(image, 16 * 1024 * 1024);
  const isMade = spawnSync('mkfs.ext4', ['-q', image], { stdio: 'ignore' }).status === 0;
  const isMounted = isMade && mount('-o', 'loop,errors=remount-ro', image, disk);
  onTestFinished(() => {
    if (isMounted) spawnSync('umount', ['--lazy', disk]);
    rmSync(directory, { recursive: true, force: true });
  });
  if (!isMounted) return skip('mounting a small file system is not permitted here');
  lockDataDirectory(disk);
  const health = new Health();
  const monitor = new DiskMonitor(disk, health, new StoreHeadroom());
  await monitor.check();
  expect(faultTexts(health.shown()).filter((text) => text === READ_ONLY)).toEqual([]);
  const source = spawnSync('findmnt', ['-no', 'SOURCE', disk], { encoding: 'utf8' }).stdout.trim();
  writeFileSync(`/sys/fs/ext4/${basename(source)}/trigger_fs_error`, 'a test');
  await monitor.check();
  expect(faultTexts(health.shown())).toContain(READ_ONLY);
});

test('a store on a read-only disk does not start, and says so', async ({ skip }) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  const isMounted = mount('-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', directory);
  onTestFinished(() => {
    if (isMounted) spawnSync('umount', ['--lazy', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  if (!isMounted) return skip('mounting a small file system is not permitted here');
  mount('-o', 'remount,ro', directory);
  const { log } = recordingLog();
  const options = { dataDir: directory, maxMemoryBytes: 64 * 1024 * 1024, log };
  await expect(new EmbeddedRedis(options).start()).rejects.toMatchObject({
    detail: 'the embedded store cannot start: the disk with the data directory is read-only',
  });
});

test('reports a fault while the disk is read-only', async ({ skip }) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  const isMounted = mount('-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', directory);
  onTestFinished(() => {
    if (isMounted) spawnSync('umount', ['--lazy', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  if (!isMounted) return skip('mounting a small file system is not permitted here');
  const health = new Health();
  const monitor = new DiskMonitor(directory, health, new StoreHeadroom());
  onTestFinished(repeat(() => monitor.check(), CHECK_EVERY_MS));
  mount('-o', 'remount,ro', directory);
  await until(() => faultTexts(health.shown()).length > 0);
  expect(faultTexts(health.shown())).toEqual([READ_ONLY]);
  mount('-o', 'remount,rw', directory);
  await until(() => faultTexts(health.shown()).length === 0);
});
