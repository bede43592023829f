import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Health } from '../site/health.js';
import { bytesOnDisk } from './append-only-files.js';

const INTERVAL_MS = 1_000;
/** A rewrite replaces the files one after the other: once they do not fit is no proof. */
const LOOKS_BEFORE_FAULT = 2;
/** A rewrite that failed, perhaps for want of room, is tried again after so many looks. */
const LOOKS_BETWEEN_REWRITES = 10;
const FAULT = 'append-only files';
const SENTENCE =
  'Files of the store on the disk are missing or cut short: it is writing all that it has anew.';

export interface AppendOnlyWatchOptions {
  /** Fails soon while the store is away. */
  readonly redis: Redis;
  /** Where the embedded store keeps its data. */
  readonly directory: string;
  readonly health: Pick<Health, 'report'>;
  readonly log: Logger;
}

/**
 * Watches that what the running store has written is on the disk (FINDINGS R12).
 *
 * A server goes on when its files are removed, and has nothing at its next start. As long as
 * it runs it has everything in memory, and writes that anew when asked.
 */
export class AppendOnlyWatch {
  readonly #options: AppendOnlyWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | undefined;
  /** How many looks in a row have found something missing. */
  #incomplete = 0;

  constructor(options: AppendOnlyWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#checking ??= this.#check()
        .catch((err: unknown) => this.#options.log.debug({ err }, 'failed to look at the files'))
        .finally(() => {
          this.#checking = undefined;
        });
    }, INTERVAL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#checking;
  }

  async #check(): Promise<void> {
    const { redis, directory, health, log } = this.#options;
    if (redis.status !== 'ready') return;
    const info = await redis.info('persistence');
    const isSettled = field(info, 'loading') === 0 && field(info, 'aof_rewrite_in_progress') === 0;
    // Without the file that is another fault (SettingsWatch).
    if (field(info, 'aof_enabled') !== 1 || !isSettled) return;
    // In this order: what is appended meanwhile makes the files longer, not shorter. (Of a new store
    // the server does not count its first, empty base: 89 bytes by which less is noticed.)
    const bytes = await bytesOnDisk(directory);
    const isWhole = bytes !== undefined && bytes >= field(info, 'aof_current_size');
    this.#incomplete = isWhole ? 0 : this.#incomplete + 1;
    if (isWhole) health.report(FAULT, undefined);
    if (this.#incomplete < LOOKS_BEFORE_FAULT) return;
    health.report(FAULT, SENTENCE);
    if ((this.#incomplete - LOOKS_BEFORE_FAULT) % LOOKS_BETWEEN_REWRITES !== 0) return;
    log.error({ directory, bytes }, 'files of the store are missing or cut short');
    await redis.bgrewriteaof();
  }
}

function field(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}
