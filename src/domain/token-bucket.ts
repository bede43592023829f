/** A limit that many token buckets share. */
export class TokenRate {
  readonly msPerToken: number;
  readonly burstMs: number;

  constructor(tokensPerMs: number, burst: number) {
    this.msPerToken = 1 / tokensPerMs;
    this.burstMs = burst * this.msPerToken;
  }
}

const UNLIMITED = new TokenRate(Number.POSITIVE_INFINITY, 0);

/**
 * A token bucket, stored as the time at which it will be full again.
 *
 * Taking always succeeds, even beyond the burst: a bucket in debt is free again once the debt is paid.
 */
export class TokenBucket {
  #rate = UNLIMITED;
  #fullAtMs = 0;

  /**
   * Sets the limit; missing tokens remain missing.
   *
   * A lower limit makes no debt: that would shut its holder out for what it took under the higher limit.
   */
  limit(rate: TokenRate, nowMs: number): void {
    const factor = this.#rate.msPerToken === 0 ? 0 : rate.msPerToken / this.#rate.msPerToken;
    const debtMs = Math.max(0, this.freeAtMs - nowMs);
    const missingMs = Math.max(0, this.#fullAtMs - nowMs) - debtMs;
    this.#rate = rate;
    this.#fullAtMs = nowMs + Math.min(missingMs * factor, rate.burstMs) + debtMs * factor;
  }

  take(tokens: number, nowMs: number): void {
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + tokens * this.#rate.msPerToken;
  }

  /** When the bucket is, or was, out of debt. */
  get freeAtMs(): number {
    return this.#fullAtMs - this.#rate.burstMs;
  }
}
