import type { RateLimits } from '../domain/limits.js';
import { TokenBucket, TokenRate } from '../domain/token-bucket.js';

const SECOND_MS = 1_000;
const SLOWING_FOR_MS = 10_000;

/** Bounds the rate of the messages that an upstream sends, over all connections to it. */
export class CommandPace {
  readonly #messages = new TokenBucket();
  readonly #bytes = new TokenBucket();
  #slowedAtMs = Number.NEGATIVE_INFINITY;

  constructor(limits: RateLimits) {
    const nowMs = performance.now();
    const { messagesPerSecond, messageBurst, bytesPerSecond, byteBurst } = limits;
    this.#messages.limit(new TokenRate(messagesPerSecond / SECOND_MS, messageBurst), nowMs);
    this.#bytes.limit(new TokenRate(bytesPerSecond / SECOND_MS, byteBurst), nowMs);
  }

  /** Whether the upstream has recently been slowed. */
  get isSlowing(): boolean {
    return performance.now() - this.#slowedAtMs < SLOWING_FOR_MS;
  }

  /** Takes a message. Returns how long it must wait, in milliseconds. */
  take(bytes: number): number {
    const nowMs = performance.now();
    this.#messages.take(1, nowMs);
    this.#bytes.take(bytes, nowMs);
    const freeAtMs = Math.max(this.#messages.freeAtMs, this.#bytes.freeAtMs);
    if (freeAtMs <= nowMs) return 0;
    this.#slowedAtMs = freeAtMs;
    return freeAtMs - nowMs;
  }
}
