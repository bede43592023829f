/**
 * Bounds what each principal sends: how much it may send, and how much of that may wait for the store.
 *
 * Opening more connections does not raise either bound. A principal over a limit is read later than it sends, and
 * shown as slowed. The room for what waits bounds the memory of publishes, even while the store is away.
 */
import type { Logger } from 'pino';
import { type FaultReport, fault, limitPhrase } from '../domain/fault.js';
import { type Principal, principalKey } from '../domain/grants.js';
import type { RateLimits } from '../domain/limits.js';
import { TokenBucket } from '../domain/token-bucket.js';
import { holderSubject } from '../site/access/quota-watch.js';
import type { SiteModel } from '../site/site-model.js';

const MIB = 1024 * 1024;
const SECOND_MS = 1_000;
const DAY_MS = 24 * 3_600 * SECOND_MS;
/** A larger packet counts as one message for each so many bytes. */
const BYTES_A_MESSAGE = 1_024;
/** So much of what it may send in seconds may come at once. */
const BURST_SECONDS = 10;
const UNLIMITED = Number.MAX_SAFE_INTEGER;
/** A principal that has not been held back for this long no longer counts as slowed. */
const SLOWED_FOR_MS = 10_000;

/** Each principal's reserve of a few publishes; others do not affect it. */
const RESERVED_BYTES = 16 * 1024;
/** At this many unstored bytes of all, clients are read no further: about 800 publishes, which the next one waits for. */
const MAX_WHILE_FAST_BYTES = 2 * MIB;
/**
 * A store that takes nothing for longer is slow, whether it does not answer or refuses: reading goes on, for live alarms
 * (contract 4.4).
 */
const SLOW_AFTER_MS = 250;
const AT_ONCE_MS = 1;
/** Bounds for one principal, and for all together, while the store is slow. */
const MAX_OWN_BYTES = 12 * MIB;
const MAX_TOTAL_BYTES = 64 * MIB;
/** For alarms these bounds are this many times higher: telemetry must not take their room. */
const OF_ALARMS = 3;

/** Memory of an unstored publish besides its payload, and the number of copies of the payload. */
const BYTES_OF_ANY = 2_048;
const COPIES_OF_PAYLOAD = 4;

/** Estimated memory of a publish until it is stored, in bytes. */
export function memoryOf(payloadBytes: number): number {
  return BYTES_OF_ANY + COPIES_OF_PAYLOAD * payloadBytes;
}

/** A principal that is read later than it sends. */
export interface Slowed {
  /** The name of the limit. */
  readonly limit: 'messagesPerSecond' | 'alarmsPerDay';
  /** By the wall clock. */
  readonly sinceMs: number;
}

/** The flow of one principal. */
export class Flow {
  readonly principal: Principal;
  readonly #all: Flows;
  readonly #messages: TokenBucket;
  /** Those of a device, also the ones that its hub sends. */
  readonly #alarms: TokenBucket;
  readonly #limits: Readonly<Record<Slowed['limit'], number>>;
  #slowed: Slowed | undefined;
  #heldBackAtMs = Number.NEGATIVE_INFINITY;
  #unstoredBytes = 0;
  /** Of these, what SUBSCRIBEs wait with: reading on is for alarms, and no reason to gather more of them. */
  #subscribingBytes = 0;

  constructor(principal: Principal, all: Flows) {
    this.principal = principal;
    this.#all = all;
    this.#limits = { alarmsPerDay: UNLIMITED, ...all.limits[principal.type] };
    const { messagesPerSecond, alarmsPerDay } = this.#limits;
    const burst = messagesPerSecond * BURST_SECONDS;
    this.#messages = new TokenBucket(messagesPerSecond / SECOND_MS, burst);
    this.#alarms = new TokenBucket(alarmsPerDay / DAY_MS, alarmsPerDay);
  }

  /** Counts a packet that is no acknowledgement: at least as one message. */
  countPacket(bytes: number, nowMs: number): void {
    this.#messages.take(Math.max(1, bytes / BYTES_A_MESSAGE), nowMs);
  }

  countAlarm(nowMs: number): void {
    this.#alarms.take(1, nowMs);
  }

  /** When it may be read again. */
  get freeAtMs(): number {
    return Math.max(this.#messages.freeAtMs, this.#alarms.freeAtMs);
  }

  /** Notes that a client is held back because the principal is over a limit. */
  noteHeldBack(nowMs: number): void {
    const isMessages = this.#messages.freeAtMs > nowMs;
    const limit = isMessages ? 'messagesPerSecond' : 'alarmsPerDay';
    const before = this.slowedAt(nowMs);
    this.#slowed = { limit, sinceMs: before?.sinceMs ?? this.#all.wallMs() };
    this.#heldBackAtMs = nowMs;
    if (before !== undefined) return;
    const which = {
      principal: principalKey(this.principal),
      limit: limitKey(this.principal, limit),
    };
    this.#all.log.warn(which, 'slowed a client over a limit');
  }

  /** Notes that a client waits: for a limit, if there is room. */
  noteParked(): void {
    if (this.hasRoom) this.#all.heldBackCount++;
  }

  /** Which limit slows it, and since when; undefined: none has lately. */
  slowedAt(nowMs: number): Slowed | undefined {
    if (nowMs - this.#heldBackAtMs > SLOWED_FOR_MS) this.#slowed = undefined;
    return this.#slowed;
  }

  /** The fault of a principal that is slowed. */
  fault(): FaultReport {
    const limit = this.#slowed?.limit ?? 'messagesPerSecond';
    const name = this.principal.type === 'device' ? 'deviceSlowed' : 'tokenSlowed';
    return fault(name, { limit: limitPhrase(limit, this.#limits[limit]) });
  }

  /** Whether the principal's clients may be read further. */
  get hasRoom(): boolean {
    if (this.#unstoredBytes < RESERVED_BYTES) return true;
    if (this.#subscribingBytes >= MAX_WHILE_FAST_BYTES) return false;
    if (this.#all.isStoreSlow) return this.#isWithin(OF_ALARMS);
    return this.#all.unstoredBytes < MAX_WHILE_FAST_BYTES;
  }

  /** Whether one more publish can be kept until it is stored. */
  keeps(isAlarm: boolean): boolean {
    return this.#isWithin(isAlarm ? OF_ALARMS : 1);
  }

  /** Whether the client may resend the publishes that were turned away. */
  get isRelieved(): boolean {
    return !this.#all.isStoreSlow && this.keeps(false);
  }

  /** Notes a publish that found no room. */
  noteUnkept(): void {
    this.#all.unkeptCount++;
  }

  /** Takes room until the returned function is called. */
  take(bytes: number): () => void {
    this.#unstoredBytes += bytes;
    const release = this.#all.take(bytes);
    return () => {
      this.#unstoredBytes -= bytes;
      release();
    };
  }

  /** Takes room for a SUBSCRIBE until the promise settles. */
  takeUntil(stored: Promise<unknown>, bytes: number): void {
    const release = this.take(bytes);
    this.#subscribingBytes += bytes;
    const end = () => {
      this.#subscribingBytes -= bytes;
      release();
    };
    stored.then(end, end);
  }

  #isWithin(times: number): boolean {
    if (this.#unstoredBytes < times * RESERVED_BYTES) return true;
    const { unstoredBytes } = this.#all;
    return this.#unstoredBytes < times * MAX_OWN_BYTES && unstoredBytes < times * MAX_TOTAL_BYTES;
  }
}

export interface FlowsOptions {
  readonly limits: RateLimits;
  /** Has the names of principals. */
  readonly model: SiteModel;
  readonly wallMs: () => number;
  readonly log: Logger;
}

/** The key of a limit below `limits` in the configuration. */
export function limitKey({ type }: Principal, limit: Slowed['limit']): string {
  return `${type}.${limit}`;
}

/** The flows of all principals, each made when its first client connects. */
export class Flows {
  readonly limits: RateLimits;
  readonly wallMs: () => number;
  readonly log: Logger;
  readonly #model: SiteModel;
  readonly #byOwner = new Map<string, Flow>();
  /** When each was taken, the oldest first. */
  readonly #unstored = new Set<{ readonly takenAtMs: number }>();
  /** When the store last took one that had waited. */
  #storedAtMs = 0;
  #unstoredBytes = 0;
  /** How many publishes found no room since the start. */
  unkeptCount = 0;
  /** How often a client was held back because of a limit since the start. */
  heldBackCount = 0;

  constructor(options: FlowsOptions) {
    this.limits = options.limits;
    this.#model = options.model;
    this.wallMs = options.wallMs;
    this.log = options.log;
  }

  get unstoredBytes(): number {
    return this.#unstoredBytes;
  }

  get isStoreSlow(): boolean {
    const [oldest] = this.#unstored;
    if (oldest === undefined) return false;
    return performance.now() - Math.max(oldest.takenAtMs, this.#storedAtMs) > SLOW_AFTER_MS;
  }

  of(principal: Principal): Flow {
    const owner = principalKey(principal);
    const known = this.#byOwner.get(owner);
    if (known !== undefined) return known;
    const flow = new Flow(principal, this);
    this.#byOwner.set(owner, flow);
    return flow;
  }

  /** Forgets a principal (`principalKey`) that is gone; what it has unstored still counts. */
  forget(owner: string): void {
    this.#byOwner.delete(owner);
  }

  /** How many principals are slowed now. */
  slowedCount(nowMs: number): number {
    return this.#slowed(nowMs).length;
  }

  /** The faults of the principals that are slowed now. */
  faults(nowMs: number): FaultReport[] {
    return this.#slowed(nowMs).map((flow) => {
      const subject = holderSubject(this.#model, principalKey(flow.principal));
      return { ...flow.fault(), subject };
    });
  }

  /** Takes room until the returned function is called. */
  take(bytes: number): () => void {
    const unstored = { takenAtMs: performance.now() };
    this.#unstored.add(unstored);
    this.#unstoredBytes += bytes;
    return () => {
      this.#unstored.delete(unstored);
      this.#unstoredBytes -= bytes;
      const nowMs = performance.now();
      // What needs no store is taken at once, and says nothing about it.
      if (nowMs - unstored.takenAtMs > AT_ONCE_MS) this.#storedAtMs = nowMs;
    };
  }

  #slowed(nowMs: number): Flow[] {
    return [...this.#byOwner.values()].filter((flow) => flow.slowedAt(nowMs) !== undefined);
  }
}
