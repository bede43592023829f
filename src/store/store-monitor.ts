import type { Redis } from 'ioredis';
import type { Health } from '../site/health.js';

const INTERVAL_MS = 500;
const MAX_ANSWER_MS = 1_000;
const FAULT = 'store';

/** So many slower answers in a row make a store slow; as many faster ones end that. */
const SLOW_ANSWER_MS = 200;
const ANSWERS_IN_A_ROW = 3;
const SLOW_FAULT = 'store-pace';

/** Watches whether and how fast the store answers, on the alarms' own connection. */
export class StoreMonitor {
  readonly #redis: Redis;
  readonly #health: Health;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #askedAtMs: number | undefined;
  #isSlow = false;
  /** How many answers in a row contradict `#isSlow`. */
  #otherwise = 0;

  /** @param now a clock that does not jump */
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
    const askedAtMs = this.#now();
    this.#askedAtMs = askedAtMs;
    this.#redis
      .ping()
      .then(() => this.#answered(this.#now() - askedAtMs))
      .catch((error: unknown) => this.#health.report(FAULT, refusal(error)))
      .finally(() => {
        this.#askedAtMs = undefined;
      });
  }

  /** Judges an answer. A slow store leaves the gateway ready: only acknowledgements are late. */
  #answered(answerMs: number): void {
    this.#health.report(FAULT, undefined);
    this.#otherwise = answerMs > SLOW_ANSWER_MS === this.#isSlow ? 0 : this.#otherwise + 1;
    if (this.#otherwise < ANSWERS_IN_A_ROW) return;
    this.#isSlow = !this.#isSlow;
    this.#otherwise = 0;
    this.#health.reportElsewhere(SLOW_FAULT, this.#isSlow ? 'The store is slow.' : undefined);
  }
}

function refusal(error: unknown): string {
  const [code = 'ERR'] = error instanceof Error ? error.message.split(' ') : [];
  return `The store refuses to answer (${code}).`;
}
