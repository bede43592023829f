/**
 * A token bucket, kept as the time at which it will be full again.
 *
 * What is taken is taken, also beyond the burst: a bucket in debt is free again once that is paid.
 */
export class TokenBucket {
  #msPerToken = 0;
  #burstMs = 0;
  #fullAtMs = 0;

  /** Sets the limit; what is missing in the bucket remains missing. */
  limit(tokensPerMs: number, burst: number, nowMs: number): void {
    const missingMs = Math.max(0, this.#fullAtMs - nowMs);
    const missing = this.#msPerToken === 0 ? 0 : missingMs / this.#msPerToken;
    this.#msPerToken = 1 / tokensPerMs;
    this.#burstMs = burst * this.#msPerToken;
    this.#fullAtMs = nowMs + missing * this.#msPerToken;
  }

  take(tokens: number, nowMs: number): void {
    this.#fullAtMs = Math.max(this.#fullAtMs, nowMs) + tokens * this.#msPerToken;
  }

  /** When the bucket is, or was, out of debt. */
  get freeAtMs(): number {
    return this.#fullAtMs - this.#burstMs;
  }
}
