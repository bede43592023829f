import type { Logger } from 'pino';
import { networkOf } from '../../domain/addresses.js';
import { formatTime } from '../../domain/time.js';
import { oneAtATime } from '../../releasers.js';
import type { Actor, AuditEntry, AuditSubject, AuditTrail } from '../audit-trail.js';
import { pause } from '../clock/pause.js';
import type { StoreHeadroom } from '../health/store-headroom.js';

/** Denials that are recorded one by one for each principal or address: in a burst, and in a second. */
const MAX_PER_SECOND = 10;
const COUNTED_FOR_MS = 60_000;
const SWEEP_INTERVAL_MS = 1_000;
/** Bounds for principals and addresses, and for records that wait for the store: a flood must not fill the memory. */
const MAX_REMEMBERED = 10_000;
const MAX_WAITING = 10_000;
const MAX_BATCH = 100;
const RETRY_AFTER_MS = 500;
/** A denied client chooses topics, paths and client ids of any length. */
const MAX_DETAIL_LENGTH = 256;

/** Token bucket of one principal or address, and what is counted beyond it. */
interface Bucket {
  left: number;
  atMs: number;
  counted: Counted | undefined;
}

/** Denials of up to a minute that become one record. */
interface Counted {
  readonly untilMs: number;
  readonly first: AuditEntry;
  /** Has a location and a resource only if all denials have the same. */
  last: AuditEntry;
  count: number;
}

export interface DenialsOptions {
  readonly audit: AuditTrail;
  readonly headroom: Pick<StoreHeadroom, 'takes'>;
  readonly log: Logger;
  readonly now: () => number;
  /** A clock that does not jump, for rates. */
  readonly steadyNow: () => number;
}

/**
 * Records denied permissions and failed logins in the audit trail, in the background: neither the
 * answer nor anything else waits for it (contract 2, Audit and denials).
 *
 * Up to ten denials a second of a principal, or of an address if the principal is unknown, are recorded
 * one by one; any more become one record a minute with their number. A record whose write got no answer
 * is written again, and may exist twice.
 */
export class Denials {
  readonly #options: DenialsOptions;
  /** By principal or address, in the order of their last denials. */
  readonly #buckets = new Map<string, Bucket>();
  readonly #waiting: AuditEntry[] = [];
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  readonly #write = oneAtATime(() => this.#writeAll());
  #lost = 0;

  constructor(options: DenialsOptions) {
    this.#options = options;
  }

  /** Number of denials lost since the start, because too many records waited for the store. */
  get lost(): number {
    return this.#lost;
  }

  start(): void {
    this.#timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
  }

  /** Tries once to write the counted and the waiting denials: a stop must not take long. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const bucket of this.#buckets.values()) this.#recordCounted(bucket);
    this.#stopping.abort();
    await this.#write();
    const lost = this.#waiting.length;
    if (lost > 0) this.#options.log.error({ lost }, 'failed to record denials before the stop');
  }

  /** Notes a permission that a principal, or the signature of a URL, does not give. */
  addDeniedPermission(actor: Actor, subject: AuditSubject, details: AuditEntry['details']): void {
    this.#add('permission.refused', actor, subject, details);
  }

  /** Notes an invalid credential. */
  addFailedLogin(actor: Actor, details: AuditEntry['details']): void {
    this.#add('authentication.refused', actor, { locationId: null, resourceId: null }, details);
  }

  /** Records the counts of minutes that are over, and forgets full buckets. */
  sweep(): void {
    const nowMs = this.#options.steadyNow();
    for (const [key, bucket] of this.#buckets) {
      if ((bucket.counted?.untilMs ?? nowMs) > nowMs) continue;
      this.#recordCounted(bucket);
      if (leftAt(bucket, nowMs) === MAX_PER_SECOND) this.#buckets.delete(key);
    }
  }

  #add(
    action: AuditEntry['action'],
    actor: Actor,
    subject: AuditSubject,
    details: AuditEntry['details'],
  ): void {
    const atMs = this.#options.now();
    const pairs = Object.entries(details).map(([name, text]) => [name, shortened(text)]);
    // Copies: a part of a path would keep the whole path in memory while the record waits.
    const locationId = shortened(subject.locationId);
    const resourceId = shortened(subject.resourceId);
    const place = { locationId, resourceId };
    const entry = { action, actor, atMs, ...place, details: Object.fromEntries(pairs) };
    const nowMs = this.#options.steadyNow();
    // By network: one attacker has 2^64 addresses of IPv6.
    const network = actor.address && networkOf(actor.address);
    const bucket = this.#bucketOf(JSON.stringify([action, actor.type, actor.id ?? network]));
    bucket.left = leftAt(bucket, nowMs);
    bucket.atMs = nowMs;
    if (bucket.left >= 1) {
      bucket.left--;
      this.#record(entry, 1);
    } else if (bucket.counted === undefined) {
      bucket.counted = { untilMs: nowMs + COUNTED_FOR_MS, first: entry, last: entry, count: 1 };
    } else {
      const { last } = bucket.counted;
      bucket.counted.last = { ...entry, ...commonSubject(last, entry) };
      bucket.counted.count++;
    }
  }

  /** Returns the bucket and moves it to the end; beyond the bound, forgets the bucket denied longest ago. */
  #bucketOf(key: string): Bucket {
    const known = this.#buckets.get(key);
    const bucket = known ?? { left: MAX_PER_SECOND, atMs: 0, counted: undefined };
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    const [oldest] = this.#buckets;
    if (this.#buckets.size > MAX_REMEMBERED && oldest !== undefined) {
      this.#buckets.delete(oldest[0]);
      this.#recordCounted(oldest[1]);
    }
    return bucket;
  }

  /** Records the last of the counted denials, with their number and the details of the first. */
  #recordCounted(bucket: Bucket): void {
    if (bucket.counted === undefined) return;
    const { first, last, count } = bucket.counted;
    bucket.counted = undefined;
    const firsts = Object.entries(first.details).map(([name, text]) => [
      `first${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      text,
    ]);
    const details = {
      ...last.details,
      ...Object.fromEntries(firsts),
      count: String(count),
      firstAt: formatTime(first.atMs),
      lastAt: formatTime(last.atMs),
    };
    this.#record({ ...last, details }, count);
  }

  /** @param count how many denials the entry stands for */
  #record(entry: AuditEntry, count: number): void {
    // A flood of denials must not use up the room for alarms.
    if (!this.#options.headroom.takes('denial')) {
      this.#lost += count;
      return;
    }
    if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push(entry);
      void this.#write();
      return;
    }
    if (this.#lost === 0) this.#options.log.error('denials are lost: too many wait for the store');
    this.#lost += count;
  }

  async #writeAll(): Promise<void> {
    const { audit, log } = this.#options;
    let isAway = false;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      try {
        await audit.record(batch);
        this.#waiting.splice(0, batch.length);
        isAway = false;
      } catch (error) {
        if (!isAway) log.warn({ err: error }, 'failed to record denials, retrying');
        isAway = true;
        if (this.#stopping.signal.aborted) break;
        await pause(RETRY_AFTER_MS, this.#stopping.signal);
      }
    }
  }
}

function commonSubject(one: AuditSubject, other: AuditSubject): AuditSubject {
  const common = (key: keyof AuditSubject) => (one[key] === other[key] ? one[key] : null);
  return { locationId: common('locationId'), resourceId: common('resourceId') };
}

function leftAt({ left, atMs }: Bucket, nowMs: number): number {
  return Math.min(MAX_PER_SECOND, left + ((nowMs - atMs) / 1000) * MAX_PER_SECOND);
}

/** The first 256 characters of a text, copied: a part of a request would keep the whole request in memory. */
export function shortened(text: string | null | undefined): string | null {
  return text ? Buffer.from(text.slice(0, MAX_DETAIL_LENGTH)).toString() : (text ?? null);
}
