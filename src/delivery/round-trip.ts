/** Measures how long a receiver takes to acknowledge: of one message at a time. */
export class RoundTrip {
  #messageId: number | undefined;
  #sentAtMs = 0;
  #lastMs = 0;

  /** How long the last measured message took, or the present one has taken so far, if longer. */
  get ms(): number {
    if (this.#messageId === undefined) return this.#lastMs;
    return Math.max(this.#lastMs, performance.now() - this.#sentAtMs);
  }

  sent(messageId: number): void {
    if (this.#messageId !== undefined) return;
    this.#messageId = messageId;
    this.#sentAtMs = performance.now();
  }

  acknowledged(messageId: number): void {
    if (messageId !== this.#messageId) return;
    this.#lastMs = performance.now() - this.#sentAtMs;
    this.#messageId = undefined;
  }

  reset(): void {
    this.#messageId = undefined;
    this.#lastMs = 0;
  }
}
