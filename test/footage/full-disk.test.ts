import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { newRecording } from '../../src/domain/footage.js';
import { GatewayError } from '../../src/errors.js';
import { DiskReserve } from '../../src/footage/disk-reserve.js';
import { FolderFootageStore } from '../../src/footage/folder-footage-store.js';
import { FootageFolder } from '../../src/footage/footage-folder.js';
import { quotaOf } from './quota.js';

const MIB = 1024 * 1024;
const DISK_BYTES = 16 * MIB;

/** A folder on its own small file system; undefined where mounting is not permitted. */
function folderOnSmallDisk(minFreeBytes: number) {
  const disk = mkdtempSync(join(tmpdir(), 'gateway-footage-disk-'));
  const options = ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', disk];
  const isMounted = spawnSync('mount', options, { stdio: 'ignore' }).status === 0;
  onTestFinished(() => {
    if (isMounted) spawnSync('umount', ['--lazy', disk], { stdio: 'ignore' });
    rmSync(disk, { recursive: true, force: true });
  });
  if (!isMounted) return undefined;
  const directory = join(disk, 'footage');
  const reserve = new DiskReserve(disk, minFreeBytes);
  const store = new FolderFootageStore(Buffer.from('key'), Date.now);
  const maxUploadBytes = DISK_BYTES * 2;
  return {
    disk,
    directory,
    folder: new FootageFolder({
      directory,
      store,
      reserve,
      maxUploadBytes,
      quota: quotaOf(directory),
      isKnown: () => true,
      steadyNow: Date.now,
    }),
  };
}

async function* chunks(totalBytes: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < totalBytes; sent += 64 * 1024) yield Buffer.alloc(64 * 1024, 1);
}

/** Uploads this much; returns the error's code, or `kept`. */
async function upload(
  folder: FootageFolder,
  bytes: number,
  announcedBytes: number | undefined,
): Promise<string> {
  const recording = newRecording(randomUUID(), 'video', 'video/mp4');
  try {
    await folder.receive({ recording, announcedBytes, chunks: chunks(bytes) });
    return 'kept';
  } catch (error) {
    return error instanceof GatewayError ? error.code : String(error);
  }
}

function filesIn(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

it('refuses an upload without reading it when it would use the reserve', async ({ skip }) => {
  const opened = folderOnSmallDisk(8 * MIB);
  if (opened === undefined) return skip('mounting a small file system is not permitted here');
  const { folder, directory } = opened;
  expect(await upload(folder, 0, 9 * MIB)).toBe('insufficient-storage');
  expect(await upload(folder, 12 * MIB, undefined)).toBe('insufficient-storage');
  expect(filesIn(directory)).toEqual([]);
  expect(await upload(folder, 6 * MIB, 6 * MIB)).toBe('kept');
  expect(await upload(folder, 6 * MIB, 6 * MIB)).toBe('insufficient-storage');
  expect(filesIn(directory)).toHaveLength(1);
});

it('ends an upload larger than announced when it reaches the reserve', async ({ skip }) => {
  const opened = folderOnSmallDisk(8 * MIB);
  if (opened === undefined) return skip('mounting a small file system is not permitted here');
  const { disk, folder, directory } = opened;
  expect(await upload(folder, 14 * MIB, MIB)).toBe('insufficient-storage');
  expect(filesIn(directory)).toEqual([]);
  const { bavail, bsize } = statfsSync(disk);
  expect(bavail * bsize).toBeGreaterThan(15 * MIB);
});

it('fails and leaves nothing behind when the disk fills up anyway', async ({ skip }) => {
  const opened = folderOnSmallDisk(0);
  if (opened === undefined) return skip('mounting a small file system is not permitted here');
  const { folder, directory } = opened;
  expect(await upload(folder, 20 * MIB, MIB)).toBe('insufficient-storage');
  expect(filesIn(directory)).toEqual([]);
  expect(await upload(folder, 2 * MIB, 2 * MIB)).toBe('kept');
});
