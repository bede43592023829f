import { statfs } from 'node:fs/promises';
import type { Health } from '../site/health.js';

const INTERVAL_MS = 1_000;
/** With less than this the embedded store soon ends, and cannot write why. */
const MIN_FREE_BYTES = 1024 * 1024;
const FAULT = 'disk';

/** Watches whether there is room where the embedded store keeps its data (CONTRACT 4.7). */
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
      this.#check().catch(() => this.#health.report(FAULT, 'The data directory is unreadable.'));
    }, INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    const { bavail, bsize } = await statfs(this.#directory);
    const isFull = bavail * bsize < MIN_FREE_BYTES;
    this.#health.report(FAULT, isFull ? 'The disk with the data directory is full.' : undefined);
  }
}
