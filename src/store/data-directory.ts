import { closeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError, systemErrorCode } from '../errors.js';
import { lockFile } from './embedded/file-lock.js';

/** The file that the gateway locks. It exists while the gateway runs. */
export const LOCK = 'gateway.lock';

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
