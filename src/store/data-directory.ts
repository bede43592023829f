/** The data directory, and the lock on a file that only one process holds. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError, systemErrorCode } from '../errors.js';

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

/**
 * Programs that lock the open file inherited as descriptor 3, and exit with status 1 if another
 * process holds the lock. Every Linux system has `flock`; macOS has `perl`.
 */
const LOCKERS = [
  { program: 'flock', args: ['-n', '3'] },
  { program: 'perl', args: ['-e', 'open(F, "+<&=3") or exit 2; exit(flock(F, 6) ? 0 : 1)'] },
];

/**
 * Locks a file, which is created if missing.
 *
 * The kernel ties the lock to the open file, not to the process. The helper's lock is therefore ours too,
 * and that of every process that inherits the descriptor. It ends with the last of them, however that one
 * ends: it is never stale, and no process id has to be trusted.
 *
 * @returns the descriptor; undefined if another process holds the lock
 */
export function lockFile(path: string): number | undefined {
  const descriptor = openSync(path, 'a+', 0o600);
  try {
    if (lockDescriptor(descriptor)) return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  closeSync(descriptor);
  return undefined;
}

function lockDescriptor(descriptor: number): boolean {
  for (const { program, args } of LOCKERS) {
    const result = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'ignore', descriptor] });
    if (result.status === 0) return true;
    if (result.status === 1) return false;
  }
  throw new GatewayError(
    'start-failed',
    'a file cannot be locked here: install flock (package util-linux) or perl',
  );
}
