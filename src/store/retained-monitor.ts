import type { Redis } from 'ioredis';
import { warning } from '../domain/faults.js';
import type { Health } from '../site/health.js';
import type { StoreHeadroom } from '../site/store-headroom.js';

/** Messages that Redis looks at to tell the size of all: a part of a millisecond. */
const SAMPLES = 500;
const FAULT = 'retained';
const MIB = 1024 * 1024;
/** Retained messages may take so much of the store's memory at most. */
const PART_OF_STORE = 0.25;

export interface RetainedMonitorOptions {
  /** Fails soon while the store is away. */
  readonly redis: Redis;
  /** `Keys.retained` */
  readonly key: string;
  readonly health: Pick<Health, 'report'>;
  readonly headroom: Pick<StoreHeadroom, 'set'>;
  /** `limits.total.retainedBytes` */
  readonly maxBytes: number;
  /** The store's `maxmemory`, 0 for none. */
  readonly storeBytes: () => number;
}

/** Watches how much memory all retained messages take together. */
export class RetainedMonitor {
  readonly #options: RetainedMonitorOptions;

  constructor(options: RetainedMonitorOptions) {
    this.#options = options;
  }

  async check(): Promise<void> {
    const { redis, key, health, headroom } = this.#options;
    const bytes = (await redis.memory('USAGE', key, 'SAMPLES', SAMPLES)) ?? 0;
    const maxBytes = this.#maxBytes();
    const isFull = bytes >= maxBytes;
    headroom.set('retained', isFull ? 'short' : 'ample');
    const message = `Retained messages take ${Math.floor(maxBytes / MIB)} MiB of the store, as much as they may: new ones are not retained.`;
    health.report(FAULT, isFull ? warning('retained-full', message) : undefined);
  }

  #maxBytes(): number {
    const { maxBytes, storeBytes } = this.#options;
    return storeBytes() === 0 ? maxBytes : Math.min(maxBytes, PART_OF_STORE * storeBytes());
  }
}
