import type { Redis } from 'ioredis';
import type {
  AuditEntry,
  AuditPage,
  AuditPosition,
  AuditQuery,
  AuditReader,
  AuditRecord,
  AuditTrail,
} from '../../site/audit-trail.js';
import { Change } from '../change.js';
import type { Keys } from '../keys.js';
import type { AuditArchive } from './archive.js';
import { AuditArchivePages, Effort, type EffortLimits } from './archive-pages.js';
import { AuditIndexPages } from './index-pages.js';
import type { AuditRecords } from './records.js';
import { compareInTrail } from './segment.js';
import { comesBefore } from './segment-cursor.js';

export interface AuditTrailOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: AuditRecords;
  readonly archive: AuditArchive;
  /** How much of the archive one page may read: some hundred megabytes of text. */
  readonly effort?: EffortLimits;
}

/** Bounds the wait for a filter that leaves out nearly everything. */
const MAX_CALLS = 100;
const EFFORT: EffortLimits = { maxSeen: 50_000, maxOpened: 24 };

/**
 * The audit trail: the newest records in Redis, older ones in files (AuditArchive).
 *
 * Redis holds a sorted set for each action, by time, whose members are the records themselves. Many
 * records of one action displace none of another, and none of their own.
 */
export class AuditTrailRedis implements AuditTrail, AuditReader {
  readonly #redis: Redis;
  readonly #records: AuditRecords;
  readonly #index: AuditIndexPages;
  readonly #archive: AuditArchivePages;
  readonly #effort: EffortLimits;

  constructor({ redis, keys, records, archive, effort = EFFORT }: AuditTrailOptions) {
    this.#redis = redis;
    this.#records = records;
    this.#index = new AuditIndexPages(redis, keys);
    this.#archive = new AuditArchivePages(archive);
    this.#effort = effort;
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    const change = new Change();
    for (const entry of entries) change.record(this.#records.of(entry));
    // The site is unchanged, so nothing needs reading again after an unknown outcome.
    await change.apply({ redis: this.#redis, onUnknownOutcome: () => undefined });
  }

  /** Reads a page: one round trip unless filters leave out more than some hundreds. */
  async page(query: AuditQuery): Promise<AuditPage> {
    const { limit } = query;
    const effort = new Effort(this.#effort);
    const records: AuditRecord[] = [];
    let { upToSequence, position } = query;
    for (let calls = 1; ; calls++) {
      // One record more than asked for tells whether another page follows.
      const wanted = limit + 1 - records.length;
      const page = await this.#read({ ...query, limit: wanted, upToSequence, position }, effort);
      upToSequence = page.upToSequence;
      position = page.next;
      records.push(...page.records);
      if (records.length > limit) {
        const shown = records.slice(0, limit);
        return { records: shown, next: placeOf(shown.at(-1)), upToSequence };
      }
      if (position === undefined || calls === MAX_CALLS || effort.isSpent) {
        return { records, next: position, upToSequence };
      }
    }
  }

  /**
   * Reads the store, then the archive.
   *
   * A record is in the archive before it leaves the store. So none is missed in this order, and one that
   * is found in both is shown once.
   */
  async #read(query: AuditQuery, effort: Effort): Promise<AuditPage> {
    const kept = await this.#index.read(query);
    const { upToSequence } = kept;
    const stretch = { ...query, upToSequence, until: kept.position };
    const archived = await this.#archive.read(query, stretch, effort);
    const { position: end } = archived;
    const isReached = (record: AuditRecord) =>
      end === undefined || !comesBefore(query.order, end, record);
    const records = merged(query.order, kept.records.filter(isReached), archived.records);
    return { records, next: end ?? kept.position, upToSequence };
  }
}

function placeOf(record: AuditRecord | undefined): AuditPosition | undefined {
  return record && { atMs: record.atMs, sequence: record.sequence };
}

/** Merges both parts; each record is in the result once. */
function merged(
  order: AuditQuery['order'],
  kept: readonly AuditRecord[],
  archived: readonly AuditRecord[],
): AuditRecord[] {
  const all = [...kept, ...archived].sort((one, other) =>
    order === 'asc' ? compareInTrail(one, other) : compareInTrail(other, one),
  );
  return all.filter((record, index) => {
    const previous = all[index - 1];
    return previous === undefined || compareInTrail(previous, record) !== 0;
  });
}
