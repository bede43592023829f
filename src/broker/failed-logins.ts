const FREE_FAILURES = 3;
const DELAY_STEP_MS = 250;
const MAX_DELAY_MS = 5_000;
/** After this long without a failure an address starts anew. */
const FORGET_AFTER_MS = 60_000;
const MAX_ADDRESSES = 10_000;

interface Failures {
  count: number;
  lastAtMs: number;
}

/** Delays the answers to failed logins, longer with each failure of an address. */
export class FailedLogins {
  readonly #byAddress = new Map<string, Failures>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a failure. Returns by how many milliseconds to delay its answer. */
  delayFor(address: string): number {
    const known = this.#byAddress.get(address);
    const isRecent = known !== undefined && this.#now() - known.lastAtMs < FORGET_AFTER_MS;
    const failures = { count: (isRecent ? known.count : 0) + 1, lastAtMs: this.#now() };
    this.#byAddress.delete(address);
    this.#byAddress.set(address, failures);
    this.#forgetOldest();
    return Math.min(MAX_DELAY_MS, Math.max(0, failures.count - FREE_FAILURES) * DELAY_STEP_MS);
  }

  /** Forgets the failures of an address that logged in. */
  succeeded(address: string): void {
    this.#byAddress.delete(address);
  }

  #forgetOldest(): void {
    const [oldest] = this.#byAddress.keys();
    if (this.#byAddress.size > MAX_ADDRESSES && oldest !== undefined)
      this.#byAddress.delete(oldest);
  }
}
