/** So much may go at once after a pause: as much as comes to a tenth of a second. */
const BURST_SECONDS = 0.1;

/** Lets so many messages a second through. */
export class Pace {
  readonly #perSecond: number;
  readonly #now: () => number;
  #allowance: number;
  #countedAtMs: number;

  /** @param now milliseconds; never goes back */
  constructor(perSecond: number, now: () => number) {
    this.#perSecond = perSecond;
    this.#now = now;
    this.#allowance = this.#burst;
    this.#countedAtMs = now();
  }

  /** How long until the next may go; 0: now. */
  waitMs(): number {
    const nowMs = this.#now();
    const earned = ((nowMs - this.#countedAtMs) / 1000) * this.#perSecond;
    this.#allowance = Math.min(this.#burst, this.#allowance + earned);
    this.#countedAtMs = nowMs;
    if (this.#allowance >= 1) return 0;
    return Math.ceil(((1 - this.#allowance) / this.#perSecond) * 1000);
  }

  /** One has gone. */
  took(): void {
    this.#allowance--;
  }

  get #burst(): number {
    return Math.max(1, this.#perSecond * BURST_SECONDS);
  }
}
