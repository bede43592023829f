/** The data directory: its lock, which only one process holds, and whether its disk takes writes. */
import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { access, open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type FaultReport, fault } from '../domain/fault.js';
import { GatewayError, systemErrorCode } from '../errors.js';
import { unlessMissing } from '../files.js';
import type { Health } from '../site/health/health.js';
import type { StoreHeadroom } from '../site/health/store-headroom.js';

/** The file that the gateway locks. It exists while the gateway runs. */
export const LOCK = 'gateway.lock';

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

const MIB = 1024 * 1024;
/** With less free space, the embedded store soon ends and cannot write why. */
const MIN_FREE_BYTES = MIB;
/** Free space below which the fault begins, and below which only alarms are stored; less on a small disk. */
const LOW = { bytes: 256 * MIB, part: 0.1 };
const SHORT = { bytes: 64 * MIB, part: 0.05 };
/** How many bytes may be written to the disk of a directory before `disk-nearly-full` begins. */
export async function spareBytes(directory: string): Promise<number> {
  const { bavail, bsize, blocks } = await statfs(directory);
  return bavail * bsize - Math.min(LOW.bytes, LOW.part * blocks * bsize);
}

const FAULT = 'disk';
const LOW_FAULT = 'disk-room';

const FULL = fault('diskFull');
const READ_ONLY = fault('diskReadOnly');
const UNWRITABLE = fault('dataDirectoryUnwritable');
const UNREADABLE = fault('dataDirectoryUnreadable');

/** Watches whether the disk takes the embedded store's writes. */
export class DiskMonitor {
  readonly #directory: string;
  readonly #health: Health;
  readonly #headroom: Pick<StoreHeadroom, 'set'>;

  constructor(directory: string, health: Health, headroom: Pick<StoreHeadroom, 'set'>) {
    this.#directory = directory;
    this.#health = health;
    this.#headroom = headroom;
  }

  async check(): Promise<void> {
    this.#health.report(FAULT, await this.#fault().catch(() => UNREADABLE));
  }

  async #fault(): Promise<FaultReport | undefined> {
    const { bavail, bsize, blocks } = await statfs(this.#directory);
    const freeBytes = bavail * bsize;
    const isBelow = ({ bytes, part }: typeof LOW) =>
      freeBytes < Math.min(bytes, part * blocks * bsize);
    this.#headroom.set('disk', isBelow(SHORT) ? 'short' : 'ample');
    const isFull = freeBytes < MIN_FREE_BYTES;
    const isLow = isBelow(LOW) && !isFull;
    this.#health.report(LOW_FAULT, isLow ? lowFault(freeBytes) : undefined);
    return isFull ? FULL : this.#unwritable();
  }

  /** The fault of an unwritable disk, found without a write: the kernel makes a failing disk read-only. */
  async #unwritable(): Promise<FaultReport | undefined> {
    try {
      await access(this.#directory, constants.W_OK);
      // After an ext4 error the check above still succeeds, but opening a file to write fails.
      const file = await unlessMissing(open(join(this.#directory, LOCK), 'r+'));
      await file?.close();
      return undefined;
    } catch (error) {
      return systemErrorCode(error) === 'EROFS' ? READ_ONLY : UNWRITABLE;
    }
  }
}

/** Names a power of two, or the fault would change with every write. */
function lowFault(freeBytes: number): FaultReport {
  return fault('diskFilling', { mebibytes: 2 ** Math.ceil(Math.log2(freeBytes / MIB)) });
}
