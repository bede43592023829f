import { setImmediate } from 'node:timers/promises';
import type { AuditPage, AuditPosition, AuditQuery, AuditRecord } from '../../site/audit-trail.js';
import { compareInTrail, parseRecord, type StoredRecord } from './records.js';
import type { AuditSegment } from './segment.js';

/** Records parsed before the event loop is yielded: a millisecond or two. */
const RECORDS_AT_A_TIME = 200;

/** Collects the first records of a query, as many as a page shows, and one more. */
export class AuditPageBuilder {
  readonly #query: AuditQuery;
  readonly #actions: ReadonlySet<string>;
  readonly #upToSequence: number;
  #found: readonly AuditRecord[] = [];
  /** Numbers of records that cannot be read: left out, as they must not hide the others. */
  readonly unreadable = new Set<number>();

  constructor(query: AuditQuery, upToSequence: number) {
    this.#query = query;
    this.#actions = new Set(query.actions);
    this.#upToSequence = upToSequence;
  }

  /** Adds those that match; a record that is added again is in the page once. */
  async add(records: readonly StoredRecord[]): Promise<void> {
    const inOrder = records
      .filter((record) => this.#isInStretch(record))
      .sort((one, other) => this.#compare(one, other));
    const matching: AuditRecord[] = [];
    for (const [at, stored] of inOrder.entries()) {
      if (matching.length > this.#query.limit) break;
      if (this.#mayMatch(stored)) {
        const record = parseRecord(stored);
        if (record === undefined) this.unreadable.add(stored.sequence);
        else if (this.#matches(record)) matching.push(record);
      }
      if (at % RECORDS_AT_A_TIME === RECORDS_AT_A_TIME - 1) await setImmediate();
    }
    const all = [...this.#found, ...matching].sort((one, other) => this.#compare(one, other));
    this.#found = all
      .filter((record, at) => at === 0 || this.#compare(all[at - 1] ?? record, record) !== 0)
      .slice(0, this.#query.limit + 1);
  }

  /** The one that comes first of the segments with records of the page. */
  firstOf(segments: readonly AuditSegment[]): AuditSegment | undefined {
    let first: AuditSegment | undefined;
    for (const segment of segments) {
      if (!this.#mayHave(segment)) continue;
      const comesFirst = first && this.#compare(this.beginOf(segment), this.beginOf(first)) < 0;
      if (comesFirst ?? true) first = segment;
    }
    return first;
  }

  /** The position that all of the segment's records come after. */
  beginOf({ firstAtMs, lastAtMs }: AuditSegment): AuditPosition {
    return this.#query.order === 'asc'
      ? { atMs: firstAtMs, sequence: 0 }
      : { atMs: lastAtMs, sequence: Number.MAX_SAFE_INTEGER };
  }

  /** Whether a page that ends there leads on from where it began. */
  isAhead(end: AuditPosition): boolean {
    const { position } = this.#query;
    return position === undefined || this.#compare(position, end) < 0;
  }

  /** Whether the page is full with the records up to there. */
  isFullAt(end: AuditPosition): boolean {
    const last = this.#found[this.#query.limit - 1];
    const isMore = this.#found.length > this.#query.limit;
    return last !== undefined && isMore && this.#compare(last, end) < 0;
  }

  /** The page, up to an end where others may follow. */
  upTo(end: AuditPosition): AuditPage {
    const records = this.#found.filter((record) => this.#compare(record, end) < 0);
    return { records, next: end, upToSequence: this.#upToSequence };
  }

  /** The page when everything that could be in it was added. */
  whole(): AuditPage {
    const { limit } = this.#query;
    const records = this.#found.slice(0, limit);
    const last = this.#found.length > limit ? records.at(-1) : undefined;
    const next = last && { atMs: last.atMs, sequence: last.sequence };
    return { records, next, upToSequence: this.#upToSequence };
  }

  #mayHave({ firstAtMs, lastAtMs, lowestSequence }: AuditSegment): boolean {
    const { order, afterMs, beforeMs, position } = this.#query;
    if (lowestSequence > this.#upToSequence) return false;
    if (afterMs !== undefined && lastAtMs <= afterMs) return false;
    if (beforeMs !== undefined && firstAtMs >= beforeMs) return false;
    if (position === undefined) return true;
    return order === 'asc' ? lastAtMs >= position.atMs : firstAtMs <= position.atMs;
  }

  #isInStretch(record: StoredRecord): boolean {
    const { afterMs, beforeMs, position } = this.#query;
    const { atMs, sequence } = record;
    return (
      sequence <= this.#upToSequence &&
      (afterMs === undefined || atMs > afterMs) &&
      (beforeMs === undefined || atMs < beforeMs) &&
      (position === undefined || this.#compare(position, record) < 0)
    );
  }

  /** Parsing takes time, so records without the ids in their text are skipped. */
  #mayMatch({ text }: StoredRecord): boolean {
    const { locationId, actorId, resourceId } = this.#query;
    return [locationId, actorId, resourceId].every((id) => id === undefined || text.includes(id));
  }

  /** A move between locations belongs to both; footage URLs to every device in the page's keys. */
  #matches({ action, actor, details, ...record }: AuditRecord): boolean {
    const { locationId, actorId, resourceId } = this.#query;
    return (
      this.#actions.has(action) &&
      (locationId === undefined ||
        [record.locationId, details['targetLocationId']].includes(locationId)) &&
      (actorId === undefined || actor.id === actorId) &&
      (resourceId === undefined ||
        record.resourceId === resourceId ||
        // With or without `devices/` before it (CONTRACT 3).
        ['"', '"devices/'].some((begin) => details['keys']?.includes(`${begin}${resourceId}/`)))
    );
  }

  /** In the order of the query. */
  #compare(one: AuditPosition, other: AuditPosition): number {
    return this.#query.order === 'asc' ? compareInTrail(one, other) : compareInTrail(other, one);
  }
}
