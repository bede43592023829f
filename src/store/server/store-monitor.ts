import type { Redis } from 'ioredis';
import { refusedWrite } from '../../delivery/log/reply-code.js';
import { type FaultReport, stopping, warning } from '../../domain/faults.js';
import type { Health } from '../../site/health/health.js';
import { REFUSED, TAKEN } from '../pair/follow-primary.js';

const INTERVAL_MS = 500;
const MAX_ANSWER_MS = 1_000;
const FAULT = 'store';

/** So many slower answers in a row make a store slow; as many faster ones end that. */
const SLOW_ANSWER_MS = 200;
const ANSWERS_IN_A_ROW = 3;
const SLOW_FAULT = 'store-pace';

const UNREACHABLE = stopping('store-unreachable', 'The store is unreachable.');
const SILENT = stopping('store-unreachable', 'The store does not answer.');
const SLOW = warning('store-slow', 'The store is slow.');

/** Watches whether and how fast the store answers, on the alarms' own connection. */
export class StoreMonitor {
  readonly #redis: Redis;
  readonly #health: Health;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;
  #askedAtMs: number | undefined;
  #isSlow = false;
  /** Why writes are refused, and since when. */
  #refused: { readonly code: string; readonly sinceMs: number } | undefined;
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
    this.#redis.on(REFUSED, this.#whenRefused);
    this.#redis.on(TAKEN, this.#whenTaken);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#redis.off(REFUSED, this.#whenRefused);
    this.#redis.off(TAKEN, this.#whenTaken);
  }

  readonly #whenRefused = (code: string): void => {
    this.#refused ??= { code, sinceMs: this.#now() };
  };

  readonly #whenTaken = (): void => {
    this.#refused = undefined;
  };

  #check(): void {
    if (this.#redis.status !== 'ready') {
      this.#health.report(FAULT, UNREACHABLE);
    } else if (this.#askedAtMs !== undefined && this.#now() - this.#askedAtMs > MAX_ANSWER_MS) {
      this.#health.report(FAULT, SILENT);
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

  /** A connection in a cluster waits for a slot that moves: it answers, and takes nothing. */
  #refusalOfWrites(): FaultReport | undefined {
    const refused = this.#refused;
    if (refused === undefined || this.#now() - refused.sinceMs <= MAX_ANSWER_MS) return undefined;
    return refusedWrite(refused.code);
  }

  /** Judges an answer. A slow store leaves the gateway ready: only acknowledgements are late. */
  #answered(answerMs: number): void {
    this.#health.report(FAULT, this.#refusalOfWrites());
    this.#otherwise = answerMs > SLOW_ANSWER_MS === this.#isSlow ? 0 : this.#otherwise + 1;
    if (this.#otherwise < ANSWERS_IN_A_ROW) return;
    this.#isSlow = !this.#isSlow;
    this.#otherwise = 0;
    this.#health.report(SLOW_FAULT, this.#isSlow ? SLOW : undefined);
  }
}

function refusal(error: unknown): FaultReport {
  const [code = 'ERR'] = error instanceof Error ? error.message.split(' ') : [];
  return stopping('store-unreachable', `The store refuses to answer (${code}).`);
}
