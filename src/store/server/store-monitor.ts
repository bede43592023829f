import { isUnanswered } from '../../delivery/reply-code.js';
import { type FaultReport, fault } from '../../domain/faults/faults.js';
import type { Health } from '../../site/health/health.js';
import type { Store } from '../store.js';

const INTERVAL_MS = 500;
const MAX_ANSWER_MS = 1_000;
const FAULT = 'store';

/** This many slower answers in a row make a store slow; as many faster ones end it. */
const SLOW_ANSWER_MS = 200;
const ANSWERS_IN_A_ROW = 3;
const SLOW_FAULT = 'store-pace';

const UNREACHABLE = fault('storeUnreachable');
const SILENT = fault('storeSilent');
const SLOW = fault('storeSlow');

/** Watches whether and how fast the store answers, on the connection used for alarms. */
export class StoreMonitor {
  readonly #store: Store;
  readonly #health: Health;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #askedAtMs: number | undefined;
  #isSlow = false;
  /** How many answers in a row contradict `#isSlow`. */
  #otherwise = 0;

  /** @param now a clock that does not jump */
  constructor(store: Store, health: Health, now: () => number) {
    this.#store = store;
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
    if (!this.#store.isReady) {
      this.#health.report(FAULT, UNREACHABLE);
      return;
    }
    if (this.#askedAtMs !== undefined && this.#now() - this.#askedAtMs > MAX_ANSWER_MS) {
      this.#health.report(FAULT, SILENT);
    }
    if (this.#askedAtMs !== undefined) return;
    const askedAtMs = this.#now();
    this.#askedAtMs = askedAtMs;
    this.#store
      .read((redis) => redis.ping())
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
    this.#health.report(SLOW_FAULT, this.#isSlow ? SLOW : undefined);
  }
}

function refusal(error: unknown): FaultReport {
  if (isUnanswered(error)) return UNREACHABLE;
  const [code = 'ERR'] = error instanceof Error ? error.message.split(' ') : [];
  return fault('storeRefusesAnswers', { code });
}
