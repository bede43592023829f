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
  /** How much of the archive one page may cost: some hundred megabytes of text at the most. */
  readonly effort?: EffortLimits;
}

/** So that a filter which leaves out nearly everything does not keep its caller waiting for ever. */
const MAX_CALLS = 100;
const EFFORT: EffortLimits = { maxSeen: 50_000, maxOpened: 24 };

/**
 * The audit trail: in Redis the newest records, a sorted set for each action, by time, whose members
 * are the records themselves; the older ones in files (AuditArchive). Many records of one action push
 * none of another out, and none of their own.
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
    // Nothing else is changed: there is nothing to be read again after an unknown outcome.
    await change.apply({ redis: this.#redis, onUnknownOutcome: () => undefined });
  }

  /** One round trip to the store, unless filters leave out more than some hundreds. */
  async page(query: AuditQuery): Promise<AuditPage> {
    const { limit } = query;
    const effort = new Effort(this.#effort);
    const records: AuditRecord[] = [];
    let { upToSequence, position } = query;
    for (let calls = 1; ; calls++) {
      // One more than asked for tells whether another page follows.
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
   * The store first: what is moved to the archive is there before it leaves the store, so that nothing
   * is missed, and what is found in both is one record.
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

/** Each record once. */
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
