import { networkOf } from '../../domain/addresses.js';
import { BoundedMap } from '../../domain/bounded-map.js';
import { looksGenerated } from '../../domain/credentials.js';
import type { QuotaWatch } from './quota-watch.js';

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** In the long run, a network gets one guess in this time. */
const FORGET_ONE_MS = 5_000;
/** Failures counted beyond the free ones: more would not make the backoff longer. */
const MAX_COUNTED = 6;
/** Beyond this, the network that failed longest ago is forgotten, so the memory cannot fill up. */
const MAX_REMEMBERED = 10_000;

/** A login whose credential has been checked. */
export interface LoginAttempt {
  readonly address: string;
  readonly secret: string | Uint8Array;
  /** Whether the credential is right. */
  readonly isValid: boolean;
}

/** The decision on a login. */
export interface LoginVerdict {
  /** `ignored`: it came during a backoff, so the answer must not show whether the credential is right. */
  readonly result: 'admitted' | 'failed' | 'ignored';
  /** When another login may be heard. */
  readonly waitMs: number;
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
  /** The end of the backoff. */
  readonly untilMs: number;
}

const ADMITTED: LoginVerdict = { result: 'admitted', waitMs: 0 };
const NONE: Failures = { count: 0, atMs: 0, untilMs: Number.NEGATIVE_INFINITY };

/**
 * Slows guessing down with an exponential backoff for each network (`networkOf`).
 *
 * A generated secret cannot be guessed, so it is always accepted: a device can raise alarms while somebody else guesses,
 * even from its own address. Only the admin token may be made up by a person, and waits if others guess in its network.
 */
export class FailedLogins {
  readonly #free: number;
  readonly #watch: Pick<QuotaWatch, 'exceeded'>;
  readonly #now: () => number;
  /** By network. */
  readonly #failures = new BoundedMap<string, Failures>(MAX_REMEMBERED);

  /**
   * @param free failures without a backoff
   * @param watch reports the networks that keep guessing during a backoff
   * @param now a clock that does not jump
   */
  constructor(free: number, watch: Pick<QuotaWatch, 'exceeded'>, now: () => number) {
    this.#free = free;
    this.#watch = watch;
    this.#now = now;
  }

  /** Decides on a login, and counts it. */
  judge({ address, secret, isValid }: LoginAttempt): LoginVerdict {
    if (isValid && looksGenerated(secret)) return ADMITTED;
    const network = networkOf(address);
    const { count, atMs, untilMs } = this.#failures.get(network) ?? NONE;
    const nowMs = this.#now();
    if (untilMs > nowMs) {
      this.#watch.exceeded('failed-logins', `address:${network}`);
      return { result: 'ignored', waitMs: Math.ceil(untilMs - nowMs) };
    }
    if (isValid) return ADMITTED;
    // Failures are forgotten one by one, not all together.
    const left = Math.max(0, count - (nowMs - atMs) / FORGET_ONE_MS);
    const failed = Math.min(left + 1, this.#free + MAX_COUNTED);
    const excess = Math.ceil(failed - this.#free);
    const waitMs = excess > 0 ? Math.min(FIRST_BACKOFF_MS * 2 ** (excess - 1), MAX_BACKOFF_MS) : 0;
    this.#failures.set(network, { count: failed, atMs: nowMs, untilMs: nowMs + waitMs });
    return { result: 'failed', waitMs };
  }
}
