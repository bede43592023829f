import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { systemErrorCode } from '../errors.js';
import type { Health } from '../site/health.js';

const INTERVAL_MS = 1_000;
/** With less free, the embedded store soon ends and cannot write why. */
const MIN_FREE_BYTES = 1024 * 1024;
const FAULT = 'disk';

/** Watches whether the disk takes the embedded store's writes (CONTRACT 4.7). */
export class DiskMonitor {
  readonly #directory: string;
  readonly #health: Health;
  #timer: NodeJS.Timeout | undefined;

  constructor(directory: string, health: Health) {
    this.#directory = directory;
    this.#health = health;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#check()
        .catch(() => 'The data directory is unreadable.')
        .then((fault) => this.#health.report(FAULT, fault));
    }, INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<string | undefined> {
    const { bavail, bsize } = await statfs(this.#directory);
    if (bavail * bsize < MIN_FREE_BYTES) return 'The disk with the data directory is full.';
    return this.#unwritable();
  }

  /** The fault of an unwritable disk, found without writing: the kernel makes a failing disk read-only. */
  async #unwritable(): Promise<string | undefined> {
    try {
      await access(this.#directory, constants.W_OK);
      return undefined;
    } catch (error) {
      const isReadOnly = systemErrorCode(error) === 'EROFS';
      return isReadOnly
        ? 'The disk with the data directory is read-only.'
        : 'The data directory cannot be written.';
    }
  }
}
