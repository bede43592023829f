/** A burst after a pause is a tenth of a second's messages. */
const BURST_SECONDS = 0.1;

/** Limits messages to a number per second. */
export class Pace {
  readonly #perSecond: number;
  readonly #now: () => number;
  #budget: number;
  #countedAtMs: number;

  /** @param now milliseconds; never goes back */
  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond;
    this.#now = now;
    this.#budget = this.#burst;
    this.#countedAtMs = now();
  }

  /** Milliseconds until the next message may be sent; 0: now. */
  waitMs(): number {
    const nowMs = this.#now();
    const earned = ((nowMs - this.#countedAtMs) / 1000) * this.#perSecond;
    this.#budget = Math.min(this.#burst, this.#budget + earned);
    this.#countedAtMs = nowMs;
    if (this.#budget >= 1) return 0;
    return Math.ceil(((1 - this.#budget) / this.#perSecond) * 1000);
  }

  /** Spends the budget of one message. */
  spend(): void {
    this.#budget--;
  }

  get #burst(): number {
    return Math.max(1, this.#perSecond * BURST_SECONDS);
  }
}
