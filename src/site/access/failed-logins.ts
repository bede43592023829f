import { isLoopbackAddress, networkOf } from '../../domain/addresses.js';
import { looksGenerated } from '../../domain/credentials.js';
import type { QuotaWatch } from './quota-watch.js';

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** In the long run an address, or all addresses at one name, have one guess in this time. */
const FORGET_ONE_MS = 5_000;
/** Between answers that an address, or all at one name, get to logins that fail during a backoff. */
const ANSWER_INTERVAL_MS = 500;
/** Above the free failures: more would not make the backoff longer. */
const MAX_COUNTED = 6;
/** How long an address is known to have failed, or to have had the right credential. */
const REMEMBERED_MS = 3_600_000;
/** Beyond this the oldest is forgotten, so that nobody fills the memory. */
const MAX_REMEMBERED = 10_000;

/** A login with a credential that has been looked at. */
export interface LoginAttempt {
  readonly address: string;
  /** Id of a device or token of ours; undefined for any other: nothing is behind it to guess. */
  readonly name: string | undefined;
  readonly secret: string | Uint8Array;
  /** Whether the credential is right. */
  readonly isValid: boolean;
}

/** What becomes of a login. */
export interface LoginVerdict {
  /** `ignored`: during a backoff, so that the answer must not show whether the credential is right. */
  readonly result: 'admitted' | 'failed' | 'ignored';
  /** How long to keep the client waiting; another login may be heard then. */
  readonly waitMs: number;
  /** False where so many wait for an answer that this one gets none. */
  readonly isAnswered: boolean;
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
  /** When the last answer of those that wait is due. */
  answerAtMs: number;
}

const ADMITTED: LoginVerdict = { result: 'admitted', waitMs: 0, isAnswered: true };

export interface FailedLoginsOptions {
  /** Failures without a backoff. */
  readonly free: number;
  /** Whether this machine's own addresses may be anybody's: then they are not counted. */
  readonly isBehindProxy: boolean;
  /** Names who guesses. */
  readonly watch: Pick<QuotaWatch, 'exceeded'>;
  /** A clock that does not jump. */
  readonly now: () => number;
}

/**
 * Slows guessing down: an exponential backoff for each address, and for each name that is tried.
 *
 * A secret of the gateway's own making cannot be guessed, so it is admitted at any time: a device
 * alarms while others guess at its name, even from its own address. Only the admin token may be made up
 * by a person. It has to wait, but never for the failures of others: it is heard from an address that
 * has not failed, and from one from which it came before.
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

  /** Gives the answers of a backoff their turns, so that no number of connections gets more of them. */
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
    // One failure is forgotten after the other, and not all at once.
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
