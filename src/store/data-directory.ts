import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError, systemErrorCode } from '../errors.js';
import { lockFile } from './embedded/file-lock.js';

/** The file that the gateway locks, and which is there as long as it runs. */
export const LOCK = 'gateway.lock';
/** Linux' name for the time since the machine was started. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/** Creates the data directory for the gateway's user only, unless it exists. */
export async function createDataDirectory(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (cause) {
    // The path or a part of it may be a file.
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
 * The lock holds until the returned function is called or the process ends, `kill -9` included.
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
 * A name for the data directory, which must exist, that only one living process has: the one that locks it.
 *
 * So a gateway that is started again after `kill -9` knows that the one before has ended. The name is of the
 * file as the running kernel knows it, so that a copy of the directory has another.
 *
 * @returns the name until the process ends; empty when another process has it or nobody can
 */
export function claimDataDirectory(dataDir: string): string {
  try {
    const bootId = readFileSync(BOOT_ID, 'utf8').trim();
    const descriptor = lockFile(join(dataDir, LOCK));
    if (descriptor === undefined) return '';
    const { dev, ino } = fstatSync(descriptor);
    return `${bootId}/${dev}/${ino}`;
  } catch {
    // Without the lock the lease is taken when it ends, as from any other machine.
    return '';
  }
}
