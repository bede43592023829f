import { isLoopbackAddress, networkOf } from '../../domain/addresses.js';
import { looksGenerated } from '../../domain/credentials.js';
import type { QuotaWatch } from './quota-watch.js';

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** In the long run, an address, or all addresses that try one name, get one guess in this time. */
const FORGET_ONE_MS = 5_000;
/** Time between answers during a backoff to an address, or to all addresses that try one name. */
const ANSWER_INTERVAL_MS = 500;
/** Failures counted beyond the free ones: more would not make the backoff longer. */
const MAX_COUNTED = 6;
/** How long the failures and the right credentials of an address are remembered. */
const REMEMBERED_MS = 3_600_000;
/** Beyond this, the oldest is forgotten, so the memory cannot fill up. */
const MAX_REMEMBERED = 10_000;

/** A login whose credential has been checked. */
export interface LoginAttempt {
  readonly address: string;
  /** Id of an existing device or token; undefined for any other: it has no secret to guess. */
  readonly name: string | undefined;
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
  /** When the last of the waiting answers is due. */
  answerAtMs: number;
}

const ADMITTED: LoginVerdict = { result: 'admitted', waitMs: 0, isAnswered: true };

export interface FailedLoginsOptions {
  /** Failures without a backoff. */
  readonly free: number;
  /** Whether anybody may use this machine's own addresses: then they are not counted. */
  readonly isBehindProxy: boolean;
  /** Names the addresses that guess. */
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
  /** A clock that does not jump. */
  readonly now: () => number;
}

/**
 * Slows guessing down with an exponential backoff for each address, and for each name that is tried.
 *
 * Nobody can guess a secret that the gateway generated, so it is admitted at any time: a device raises
 * alarms while others guess at its name, even from its own address. Only the admin token may be made up
 * by a person. It has to wait, but never for the failures of others: it is heard from an address that
 * has not failed, and from an address that has shown it before.
 */
export class FailedLogins {
  readonly #options: FailedLoginsOptions;
  /** In the order of their last failures. */
  readonly #ofAddress = new Map<string, Failures>();
  readonly #ofName = new Map<string, Failures>();
  /** When an address last had the right credential for a name. */
  readonly #rightAtMs = new Map<string, number>();

  constructor(options: FailedLoginsOptions) {
    this.#options = options;
  }

  /** Decides on a login, and counts it. */
  judge({ address, name, secret, isValid }: LoginAttempt): LoginVerdict {
    if (isValid && looksGenerated(secret)) return ADMITTED;
    const isAnybodys = this.#options.isBehindProxy && isLoopbackAddress(address);
    const network = isAnybodys ? undefined : networkOf(address);
    const waitMs = this.#waitMs(network, name);
    const own = `${network} ${name}`;
    if (isValid && (waitMs === 0 || this.#isRecent(this.#rightAtMs.get(own)))) {
      if (network !== undefined) remember(this.#rightAtMs, own, this.#options.now());
      return ADMITTED;
    }
    if (waitMs > 0) {
      this.#options.watch.exceeded('failed-logins', `address:${networkOf(address)}`);
      return { result: 'ignored', ...this.#answer(network, name) };
    }
    this.#count(this.#ofAddress, network);
    this.#count(this.#ofName, name);
    return { result: 'failed', ...this.#answer(network, name) };
  }

  /** Spaces out the answers of a backoff, so more connections do not get more answers. */
  #answer(network: string | undefined, name: string | undefined) {
    const waitMs = this.#waitMs(network, name);
    if (waitMs === 0) return { waitMs, isAnswered: true };
    const nowMs = this.#options.now();
    const both = [this.#ofAddress.get(network ?? ''), this.#ofName.get(name ?? '')];
    const known = both.filter((failures) => failures !== undefined);
    const turns = known.map(({ answerAtMs }) => answerAtMs + ANSWER_INTERVAL_MS);
    const answerAtMs = Math.max(nowMs + waitMs, ...turns);
    if (answerAtMs > nowMs + MAX_BACKOFF_MS) return { waitMs: MAX_BACKOFF_MS, isAnswered: false };
    for (const failures of known) failures.answerAtMs = answerAtMs;
    return { waitMs: Math.ceil(answerAtMs - nowMs), isAnswered: true };
  }

  #waitMs(network: string | undefined, name: string | undefined): number {
    const ofAddress = this.#ofAddress.get(network ?? '');
    if (network !== undefined && !this.#isRecent(ofAddress?.atMs)) return 0;
    return Math.max(this.#backoffMs(ofAddress), this.#backoffMs(this.#ofName.get(name ?? '')));
  }

  #count(failures: Map<string, Failures>, key: string | undefined): void {
    if (key === undefined) return;
    const { now, free } = this.#options;
    const known = failures.get(key) ?? { count: 0, atMs: now(), answerAtMs: 0 };
    // Failures are forgotten one by one, not all together.
    const left = Math.max(0, known.count - (now() - known.atMs) / FORGET_ONE_MS);
    const count = Math.min(left + 1, free + MAX_COUNTED);
    remember(failures, key, { ...known, count, atMs: now() });
  }

  #backoffMs(failures: Failures | undefined): number {
    const excess = (failures?.count ?? 0) - this.#options.free;
    if (failures === undefined || excess <= 0) return 0;
    const backoffMs = Math.min(FIRST_BACKOFF_MS * 2 ** (Math.ceil(excess) - 1), MAX_BACKOFF_MS);
    return Math.max(0, Math.ceil(failures.atMs + backoffMs - this.#options.now()));
  }

  #isRecent(atMs: number | undefined): boolean {
    return atMs !== undefined && this.#options.now() - atMs < REMEMBERED_MS;
  }
}

/** Sets the newest entry of a map, and forgets the oldest beyond the bound. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_REMEMBERED && oldest !== undefined) map.delete(oldest);
}
