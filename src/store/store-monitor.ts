import type { Redis } from 'ioredis';
import type { Health } from '../site/health.js';

const INTERVAL_MS = 500;
const MAX_ANSWER_MS = 1_000;
const FAULT = 'store';

/** Watches whether the store answers; over the connection of the alarms, and in their queue. */
export class StoreMonitor {
  readonly #redis: Redis;
  readonly #health: Health;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #askedAtMs: number | undefined;

  constructor(redis: Redis, health: Health, now: () => number) {
    this.#redis = redis;
    this.#health = health;
    this.#now = now;
  }

  start(): void {
    this.#timer = setInterval(() => this.#check(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    if (this.#redis.status !== 'ready') {
      this.#health.report(FAULT, 'The store is unreachable.');
    } else if (this.#askedAtMs !== undefined && this.#now() - this.#askedAtMs > MAX_ANSWER_MS) {
      this.#health.report(FAULT, 'The store does not answer.');
    }
    if (this.#askedAtMs !== undefined) return;
    this.#askedAtMs = this.#now();
    this.#redis
      .ping()
      .then(() => this.#health.report(FAULT, undefined))
      .catch((error: unknown) => this.#health.report(FAULT, refusal(error)))
      .finally(() => {
        this.#askedAtMs = undefined;
      });
  }
}

function refusal(error: unknown): string {
  const [code = 'ERR'] = error instanceof Error ? error.message.split(' ') : [];
  return `The store refuses to answer (${code}).`;
}
