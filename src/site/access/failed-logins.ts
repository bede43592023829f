import { isLoopbackAddress, networkOf } from '../../domain/addresses.js';
import { looksGenerated } from '../../domain/credentials.js';
import type { QuotaWatch } from './quota-watch.js';

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** In the long run, a network gets one guess in this time. */
const FORGET_ONE_MS = 5_000;
/** Failures counted beyond the free ones: more would not make the backoff longer. */
const MAX_COUNTED = 6;
/** Delayed answers of a network at a time; each holds a connection. */
const MAX_WAITING = 20;
/** How long a network is remembered in which the admin token was right. */
const REMEMBERED_MS = 3_600_000;
/** Beyond this, the oldest is forgotten, so the memory cannot fill up. */
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
  /** How long to keep the client waiting; after that, another login may be heard. */
  readonly waitMs: number;
  /** False if too many wait for an answer already. */
  readonly isAnswered: boolean;
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
  /** When the waiting answers are due. */
  readonly answersDueMs: readonly number[];
}

const ADMITTED: LoginVerdict = { result: 'admitted', waitMs: 0, isAnswered: true };
const NONE: Failures = { count: 0, atMs: 0, answersDueMs: [] };

/**
 * Slows guessing down with an exponential backoff for each network (`networkOf`).
 *
 * A generated secret cannot be guessed, so it is always accepted: a device can raise alarms while somebody else guesses,
 * even from its own address. Only the admin token may be made up by a person. A login with it waits if others have guessed
 * in the same network, unless it was right there within the last hour. The exception does not apply to this machine's own
 * addresses if there is a proxy, which may bring anybody.
 */
export class FailedLogins {
  readonly #free: number;
  readonly #watch: Pick<QuotaWatch, 'exceeded'>;
  readonly #now: () => number;
  readonly #isBehindProxy: boolean;
  /** By network, in the order of the last failures. */
  readonly #failures = new Map<string, Failures>();
  /** When the made-up admin token was last right in a network. */
  readonly #rightAtMs = new Map<string, number>();

  /**
   * @param free failures without a backoff
   * @param watch reports the networks that keep guessing during a backoff
   * @param now a clock that does not jump
   * @param isBehindProxy whether anybody may come from this machine's own addresses
   */
  constructor(
    free: number,
    watch: Pick<QuotaWatch, 'exceeded'>,
    now: () => number,
    isBehindProxy: boolean,
  ) {
    this.#free = free;
    this.#watch = watch;
    this.#now = now;
    this.#isBehindProxy = isBehindProxy;
  }

  /** Decides on a login, and counts it. */
  judge({ address, secret, isValid }: LoginAttempt): LoginVerdict {
    if (isValid && looksGenerated(secret)) return ADMITTED;
    const network = networkOf(address);
    const isFree = this.#backoffMs(network) === 0;
    if (isValid && (isFree || this.#wasRight(network))) {
      const isAnybodys = this.#isBehindProxy && isLoopbackAddress(address);
      if (!isAnybodys) remember(this.#rightAtMs, network, this.#now());
      return ADMITTED;
    }
    if (isFree) this.#count(network);
    else this.#watch.exceeded('failed-logins', `address:${network}`);
    return { result: isFree ? 'failed' : 'ignored', ...this.#answer(network) };
  }

  #answer(network: string) {
    const waitMs = this.#backoffMs(network);
    const failures = this.#failures.get(network) ?? NONE;
    const nowMs = this.#now();
    const waiting = failures.answersDueMs.filter((dueMs) => dueMs > nowMs);
    const isAnswered = waiting.length < MAX_WAITING;
    if (isAnswered && waitMs > 0) {
      this.#failures.set(network, { ...failures, answersDueMs: [...waiting, nowMs + waitMs] });
    }
    return { waitMs, isAnswered };
  }

  #count(network: string): void {
    const nowMs = this.#now();
    const known = this.#failures.get(network) ?? NONE;
    // Failures are forgotten one by one, not all together.
    const left = Math.max(0, known.count - (nowMs - known.atMs) / FORGET_ONE_MS);
    const count = Math.min(left + 1, this.#free + MAX_COUNTED);
    remember(this.#failures, network, { ...known, count, atMs: nowMs });
  }

  #backoffMs(network: string): number {
    const { count, atMs } = this.#failures.get(network) ?? NONE;
    const excess = Math.ceil(count - this.#free);
    if (excess <= 0) return 0;
    const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** (excess - 1), MAX_BACKOFF_MS);
    return Math.max(0, Math.ceil(atMs + backoffMs - this.#now()));
  }

  #wasRight(network: string): boolean {
    return this.#now() - (this.#rightAtMs.get(network) ?? Number.NEGATIVE_INFINITY) < REMEMBERED_MS;
  }
}

/** Sets the newest entry of a map, and forgets the oldest beyond the bound. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REMEMBERED && oldest !== undefined) map.delete(oldest);
}
