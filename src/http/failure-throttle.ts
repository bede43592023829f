const MAX_FAILURES = 20;
const WINDOW_MS = 60_000;
/** Beyond this the oldest address is forgotten, so that no attacker fills the memory. */
const MAX_ADDRESSES = 10_000;

interface Failures {
  readonly count: number;
  readonly untilMs: number;
}

/** Counts the failed authentications per address, within a minute from the first. */
export class FailureThrottle {
  readonly #failures = new Map<string, Failures>();
  readonly #isTrusted: (address: string) => boolean;
  readonly #now: () => number;

  constructor(isTrusted: (address: string) => boolean, now: () => number) {
    this.#isTrusted = isTrusted;
    this.#now = now;
  }

  /** How long the address must wait; 0 when it need not. */
  waitMs(address: string): number {
    const failures = this.#current(address);
    return failures === undefined || failures.count < MAX_FAILURES
      ? 0
      : failures.untilMs - this.#now();
  }

  /** Counts one more failure. */
  add(address: string): void {
    if (this.#isTrusted(address)) return;
    const { count, untilMs } = this.#current(address) ?? {
      count: 0,
      untilMs: this.#now() + WINDOW_MS,
    };
    this.#failures.set(address, { count: count + 1, untilMs });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > MAX_ADDRESSES && oldest !== undefined) this.#failures.delete(oldest);
  }

  #current(address: string): Failures | undefined {
    const failures = this.#failures.get(address);
    if (failures !== undefined && failures.untilMs > this.#now()) return failures;
    this.#failures.delete(address);
    return undefined;
  }
}
