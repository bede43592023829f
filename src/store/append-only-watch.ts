import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { stopping } from '../domain/faults.js';
import type { Health } from '../site/health.js';
import { bytesOnDisk } from './append-only-files.js';
import { infoNumber } from './server-info.js';

/** A rewrite replaces the files one by one: a single mismatch is no proof. */
const CHECKS_BEFORE_FAULT = 2;
/** Checks between two rewrites, should one fail, perhaps for want of room. */
const CHECKS_BETWEEN_REWRITES = 10;
const FAULT = 'append-only files';
const SENTENCE =
  'Files of the store on the disk are missing or cut short: it is writing all that it has anew.';

export interface AppendOnlyWatchOptions {
  /** Fails soon while the store is away. */
  readonly redis: Redis;
  /** The embedded store's data directory. */
  readonly directory: string;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
}

/**
 * Watches that the running store's files are on the disk (FINDINGS R12).
 *
 * A server whose files are removed runs on, and has nothing at its next start. While it runs it has
 * everything in memory, and writes that anew when asked.
 */
export class AppendOnlyWatch {
  readonly #options: AppendOnlyWatchOptions;
  /** How many checks in a row have found something missing. */
  #incomplete = 0;

  constructor(options: AppendOnlyWatchOptions) {
    this.#options = options;
  }

  async check(): Promise<void> {
    const { redis, directory, health, log } = this.#options;
    const info = await redis.info('persistence');
    const isSettled =
      infoNumber(info, 'loading') === 0 && infoNumber(info, 'aof_rewrite_in_progress') === 0;
    // A store without an append-only file is a fault of its own (server-check.ts).
    if (infoNumber(info, 'aof_enabled') !== 1 || !isSettled) return;
    // The server is asked first: whatever is appended meanwhile makes the files longer, not shorter. (The
    // server does not count a new store's first, empty base: a gap of up to 89 bytes goes unnoticed.)
    const bytes = await bytesOnDisk(directory);
    const isWhole = bytes !== undefined && bytes >= infoNumber(info, 'aof_current_size');
    this.#incomplete = isWhole ? 0 : this.#incomplete + 1;
    if (isWhole) health.report(FAULT, undefined);
    if (this.#incomplete < CHECKS_BEFORE_FAULT) return;
    health.report(FAULT, stopping('store-files-damaged', SENTENCE));
    if ((this.#incomplete - CHECKS_BEFORE_FAULT) % CHECKS_BETWEEN_REWRITES !== 0) return;
    log.error({ directory, bytes }, 'files of the store are missing or cut short');
    await redis.bgrewriteaof();
  }
}
