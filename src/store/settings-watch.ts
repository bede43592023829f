import type { Redis } from 'ioredis';
import type { Health } from '../site/health.js';
import { unsafeSettings } from './server-check.js';

const INTERVAL_MS = 30_000;
const FAULT = 'store-settings';

/**
 * Watches the server's settings, which anybody may change while it runs (FINDINGS R13).
 *
 * The gateway works as before, but what it acknowledges may be evicted or lost.
 */
export class SettingsWatch {
  readonly #redis: Redis;
  readonly #health: Pick<Health, 'reportElsewhere'>;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;

  /** @param redis fails soon while the store is away */
  constructor(
    redis: Redis,
    health: Pick<Health, 'reportElsewhere'>,
    intervalMs: number = INTERVAL_MS,
  ) {
    this.#redis = redis;
    this.#health = health;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#check(), this.#intervalMs);
    void this.#check();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Checks the settings of a store that answers; one that is away is a fault of StoreMonitor. */
  async #check(): Promise<void> {
    if (this.#redis.status !== 'ready') return;
    const sentences = await unsafeSettings(this.#redis);
    this.#health.reportElsewhere(FAULT, sentences.length > 0 ? sentences.join(' ') : undefined);
  }
}
