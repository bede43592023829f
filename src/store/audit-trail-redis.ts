import type { Redis } from 'ioredis';
import { z } from 'zod';
import type {
  AuditEntry,
  AuditPage,
  AuditPosition,
  AuditQuery,
  AuditReader,
  AuditRecord,
  AuditTrail,
} from '../site/audit-trail.js';
import type { AuditRecords } from './audit-records.js';
import { formatAuditNumber, readAuditRecord } from './audit-records.js';
import { Change } from './change.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const number = z.coerce.number();
const auditPage = new Script(
  'audit-page',
  z.tuple([number, z.array(z.string()), z.union([z.tuple([number, number]), z.tuple([])])]),
);

/** A script holds everybody up as long as it runs: some milliseconds for this many. */
const MAX_SEEN_PER_CALL = 500;
/** So that a filter which leaves out nearly everything does not keep its caller waiting for ever. */
const MAX_CALLS = 100;

interface Stretch {
  readonly upToSequence: number;
  readonly records: readonly AuditRecord[];
  /** What was looked at last, undefined when there is nothing more to look at. */
  readonly position: AuditPosition | undefined;
}

/**
 * The audit trail in Redis: a sorted set for each action, by time, whose members are the records
 * themselves. Many records of one action push none of another out.
 */
export class AuditTrailRedis implements AuditTrail, AuditReader {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #records: AuditRecords;

  constructor(redis: Redis, keys: Keys, records: AuditRecords) {
    this.#redis = redis;
    this.#keys = keys;
    this.#records = records;
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    const change = new Change();
    for (const entry of entries) change.record(this.#records.of(entry));
    // Nothing else is changed: there is nothing to be read again after an unknown outcome.
    await change.apply({ redis: this.#redis, onUnknownOutcome: () => undefined });
  }

  /** One round trip, unless filters leave out more than some hundreds. */
  async page(query: AuditQuery): Promise<AuditPage> {
    const { limit } = query;
    const records: AuditRecord[] = [];
    let { upToSequence, position } = query;
    for (let calls = 1; ; calls++) {
      // One more than asked for tells whether another page follows.
      const wanted = limit + 1 - records.length;
      const stretch = await this.#read({ ...query, limit: wanted, upToSequence, position });
      ({ upToSequence, position } = stretch);
      records.push(...stretch.records);
      if (records.length > limit) {
        const shown = records.slice(0, limit);
        return { records: shown, next: positionOf(shown.at(-1)), upToSequence };
      }
      if (position === undefined || calls === MAX_CALLS) {
        return { records, next: position, upToSequence };
      }
    }
  }

  async #read(query: AuditQuery): Promise<Stretch> {
    const { position } = query;
    const [upToSequence, rows, [atMs, sequence]] = await answering(() =>
      auditPage.run(
        this.#redis,
        [this.#keys.auditSequence, ...query.actions.map((action) => this.#keys.audit(action))],
        [
          query.order,
          query.afterMs ?? '',
          query.beforeMs ?? '',
          query.limit,
          MAX_SEEN_PER_CALL,
          query.upToSequence ?? '',
          position?.atMs ?? '',
          position === undefined ? '' : formatAuditNumber(position.sequence),
          query.locationId ?? '',
          query.actorId ?? '',
          query.resourceId ?? '',
        ],
      ),
    );
    const isEnd = atMs === undefined || sequence === undefined;
    return {
      upToSequence,
      records: readRows(rows),
      position: isEnd ? undefined : { atMs, sequence },
    };
  }
}

function positionOf(record: AuditRecord | undefined): AuditPosition | undefined {
  return record === undefined ? undefined : { atMs: record.atMs, sequence: record.sequence };
}

/** Time and member of each record, one after the other. */
function readRows(rows: readonly string[]): AuditRecord[] {
  const records: AuditRecord[] = [];
  for (let at = 0; at + 1 < rows.length; at += 2) {
    records.push(readAuditRecord(Number(rows[at]), rows[at + 1] ?? ''));
  }
  return records;
}
