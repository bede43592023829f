/** How fast an upstream may send: so much at once, then so much a second. */
export interface CommandRates {
  readonly messagesPerSecond: number;
  readonly messageBurst: number;
  readonly bytesPerSecond: number;
  readonly byteBurst: number;
}

const SLOWING_FOR_MS = 10_000;

/** A token bucket, as the time at which it is full again. */
class Bucket {
  readonly #perMs: number;
  readonly #burst: number;
  #fullAtMs = 0;

  constructor(perSecond: number, burst: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
  }

  /** Takes an amount. Returns how long to wait, in milliseconds. */
  take(amount: number, nowMs: number): number {
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + amount / this.#perMs;
    return Math.max(0, this.#fullAtMs - nowMs - this.#burst / this.#perMs);
  }
}

/** Bounds the rate of the messages that an upstream sends, over all connections to it. */
export class CommandPace {
  #slowedAtMs = Number.NEGATIVE_INFINITY;
  readonly #messages: Bucket;
  readonly #bytes: Bucket;

  constructor(rates: CommandRates) {
    this.#messages = new Bucket(rates.messagesPerSecond, rates.messageBurst);
    this.#bytes = new Bucket(rates.bytesPerSecond, rates.byteBurst);
  }

  /** Whether the upstream was slowed a moment ago. */
  get isSlowing(): boolean {
    return performance.now() - this.#slowedAtMs < SLOWING_FOR_MS;
  }

  /** Takes a message. Returns how long it must wait, in milliseconds. */
  take(bytes: number): number {
    const nowMs = performance.now();
    const waitMs = Math.max(this.#messages.take(1, nowMs), this.#bytes.take(bytes, nowMs));
    if (waitMs > 0) this.#slowedAtMs = nowMs + waitMs;
    return waitMs;
  }
}
