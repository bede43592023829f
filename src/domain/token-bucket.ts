/** A limit of token buckets, which many of them share. */
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
 * A token bucket, kept as the time at which it will be full again.
 *
 * What is taken is taken, also beyond the burst: a bucket in debt is free again once that is paid.
 */
export class TokenBucket {
  #rate = UNLIMITED;
  #fullAtMs = 0;

  /** Sets the limit; what is missing in the bucket remains missing. */
  limit(rate: TokenRate, nowMs: number): void {
    const { msPerToken } = this.#rate;
    const missingMs = Math.max(0, this.#fullAtMs - nowMs);
    const missing = msPerToken === 0 ? 0 : missingMs / msPerToken;
    this.#rate = rate;
    this.#fullAtMs = nowMs + missing * rate.msPerToken;
  }

  take(tokens: number, nowMs: number): void {
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + tokens * this.#rate.msPerToken;
  }

  /** When the bucket is, or was, out of debt. */
  get freeAtMs(): number {
    return this.#fullAtMs - this.#rate.burstMs;
  }
}
