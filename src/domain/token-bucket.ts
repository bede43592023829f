/**
 * A token bucket, stored as the time at which it will be full again.
 *
 * Taking always succeeds, even beyond the burst: a bucket in debt is free again once the debt is paid.
 */
export class TokenBucket {
  readonly #msPerToken: number;
  readonly #burstMs: number;
  #fullAtMs = 0;

  constructor(tokensPerMs: number, burst: number) {
    this.#msPerToken = 1 / tokensPerMs;
    this.#burstMs = burst * this.#msPerToken;
  }

  take(tokens: number, nowMs: number): void {
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + tokens * this.#msPerToken;
  }

  /** When the bucket is, or was, out of debt. */
  get freeAtMs(): number {
    return this.#fullAtMs - this.#burstMs;
  }
}
