import { closeSync, existsSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lockFile } from '../../../src/store/embedded/file-lock.js';

const LOOK_AGAIN_MS = 5;

/**
 * The store's process on this data, or undefined.
 *
 * The process id in an old file may belong to another program.
 */
export function storeProcessId(dataDir: string): number | undefined {
  try {
    const directory = join(dataDir, 'redis');
    const processId = Number(readFileSync(join(directory, 'redis.pid'), 'utf8'));
    const isOurs = readlinkSync(`/proc/${processId}/cwd`) === realpathSync(directory);
    return isOurs ? processId : undefined;
  } catch {
    return undefined;
  }
}

/** Kills the store that a killed gateway left behind, even if it is just starting. */
export async function killStore(dataDir: string): Promise<void> {
  const file = join(dataDir, 'redis', 'redis.lock');
  if (!existsSync(file)) return;
  for (;;) {
    const processId = storeProcessId(dataDir);
    if (processId !== undefined) kill(processId);
    // A store takes its lock before it has a process id, and holds it until it is gone.
    const lock = lockFile(file);
    if (lock !== undefined) {
      closeSync(lock);
      return;
    }
    await delay(LOOK_AGAIN_MS);
  }
}

/** Kills a process that may have ended already. */
export function kill(processId: number): void {
  try {
    process.kill(processId, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** Kills the store and holds its lock until the returned descriptor is closed. */
export function holdStoreDown({ dataDir }: { readonly dataDir: string }): number {
  const file = join(dataDir, 'redis', 'redis.lock');
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    // On a busy machine the gateway may start the next store before we get the lock; it waits longer each time.
    const processId = storeProcessId(dataDir);
    if (processId !== undefined) kill(processId);
    const lock = lockFile(file);
    if (lock !== undefined) return lock;
  }
  throw new Error('the lock of the store did not get free');
}

/** Each try takes some milliseconds; a killed process may take several to be gone. */
const MAX_TRIES = 5_000;
