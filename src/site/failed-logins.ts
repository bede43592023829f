import { isLoopbackAddress, networkOf } from '../domain/addresses.js';
import { looksGenerated } from '../domain/credentials.js';

const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** In the long run an address, or all addresses at one name, have one guess in this time. */
const FORGET_ONE_MS = 5_000;
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
  /** How long until another login will be heard. */
  readonly waitMs: number;
}

interface Failures {
  readonly count: number;
  readonly atMs: number;
}

export interface FailedLoginsOptions {
  /** Failures without a backoff. */
  readonly free: number;
  /** Whether this machine's own addresses may be anybody's: then they are not counted. */
  readonly isBehindProxy: boolean;
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
    if (isValid && looksGenerated(secret)) return { result: 'admitted', waitMs: 0 };
    const isAnybodys = this.#options.isBehindProxy && isLoopbackAddress(address);
    const network = isAnybodys ? undefined : networkOf(address);
    const waitMs = this.#waitMs(network, name);
    const own = `${network} ${name}`;
    if (isValid && (waitMs === 0 || this.#isRecent(this.#rightAtMs.get(own)))) {
      if (network !== undefined) remember(this.#rightAtMs, own, this.#options.now());
      return { result: 'admitted', waitMs: 0 };
    }
    if (waitMs > 0) return { result: 'ignored', waitMs };
    this.#count(this.#ofAddress, network);
    this.#count(this.#ofName, name);
    return { result: 'failed', waitMs: this.#waitMs(network, name) };
  }

  #waitMs(network: string | undefined, name: string | undefined): number {
    const ofAddress = this.#ofAddress.get(network ?? '');
    if (network !== undefined && !this.#isRecent(ofAddress?.atMs)) return 0;
    return Math.max(this.#backoffMs(ofAddress), this.#backoffMs(this.#ofName.get(name ?? '')));
  }

  #count(failures: Map<string, Failures>, key: string | undefined): void {
    if (key === undefined) return;
    const { now, free } = this.#options;
    const { count, atMs } = failures.get(key) ?? { count: 0, atMs: now() };
    // One failure is forgotten after the other, and not all at once.
    const left = Math.max(0, count - (now() - atMs) / FORGET_ONE_MS);
    remember(failures, key, { count: Math.min(left + 1, free + MAX_COUNTED), atMs: now() });
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
