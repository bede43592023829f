import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError, systemErrorCode } from '../errors.js';
import { lockFile } from './embedded/file-lock.js';

/** The file that the gateway locks. It exists while the gateway runs. */
export const LOCK = 'gateway.lock';
/** Linux's identifier for the time since the machine booted. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Creates the data directory, for the gateway's user only, unless it exists. */
export async function createDataDirectory(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    // The path, or a part of it, may be a file.
    const isFile = ['EEXIST', 'ENOTDIR'].includes(systemErrorCode(cause) ?? '');
    const detail = isFile
      ? `${dataDir} is to be a directory, but a file is in its place: set dataDir`
      : `${dataDir} cannot be created`;
    throw new GatewayError('start-failed', detail, { cause });
  }
}

/**
 * Locks the data directory, which must exist, for this process.
 *
 * The lock holds until the returned function is called or the process ends, even by `kill -9`.
 */
export function lockDataDirectory(dataDir: string): () => void {
  const descriptor = lockFile(join(dataDir, LOCK));
  if (descriptor === undefined) {
    throw new GatewayError('start-failed', `another gateway is running on ${dataDir}`);
  }
  let held = true;
  return () => {
    if (held) closeSync(descriptor);
    held = false;
  };
}

/**
 * Claims a name for the data directory, which must exist. Only the living process that locks it has this name.
 *
 * A gateway restarted after `kill -9` can then tell that its predecessor has ended. The name identifies the
 * file in the running kernel, so a copy of the directory has another name.
 *
 * @returns the name, valid until the process ends; empty if another process has it or locking fails
 */
export function claimDataDirectory(dataDir: string): string {
  try {
    const bootId = readFileSync(BOOT_ID, 'utf8').trim();
    const descriptor = lockFile(join(dataDir, LOCK));
    if (descriptor === undefined) return '';
    const { dev, ino } = fstatSync(descriptor);
    return `${bootId}/${dev}/${ino}`;
  } catch {
    // Without the lock, the gateway takes the lease when it expires, as from any other machine.
    return '';
  }
}
