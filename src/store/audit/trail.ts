import type { Logger } from 'pino';
import {
  type AuditEntry,
  type AuditPage,
  type AuditQuery,
  type AuditReader,
  type AuditRecord,
  type AuditTrail,
  isDenial,
} from '../../site/audit-trail.js';
import { answering } from '../failures.js';
import type { Keys } from '../keys.js';
import { makeChange } from '../site/change.js';
import type { Store } from '../store.js';
import { type AuditRecords, newestNumber, parseRecord, readRecords } from './records.js';

/** Bounds the wait for a filter that excludes nearly everything. */
const MAX_READ_PER_PAGE = 10_000;

export interface AuditTrailOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly records: AuditRecords;
  readonly log: Logger;
}

/** The audit trail: changes in one stream of Redis, denials in another. */
export class AuditTrailRedis implements AuditTrail, AuditReader {
  readonly #options: AuditTrailOptions;

  constructor(options: AuditTrailOptions) {
    this.#options = options;
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    const { store, keys } = this.#options;
    const records = entries.map((entry) => this.#options.records.of(entry));
    await makeChange(store, keys, { writes: [], records });
  }

  async page(query: AuditQuery): Promise<AuditPage> {
    // Left out: they must not hide the others.
    const unreadable: number[] = [];
    const page = await answering(() => this.#read(query, unreadable));
    const { log } = this.#options;
    if (unreadable.length > 0) log.error({ sequences: unreadable }, 'failed to read audit records');
    return page;
  }

  async #read(query: AuditQuery, unreadable: number[]): Promise<AuditPage> {
    const { store } = this.#options;
    const streams = this.#streamsOf(query);
    const upToSequence = query.upToSequence ?? (await newestNumber(store, streams));
    const records: AuditRecord[] = [];
    let next = query.position;
    let count = 0;
    do {
      const chunk = await readRecords(store, streams, query.order, next, upToSequence);
      for (const stored of chunk.records) {
        const record = parseRecord(stored);
        if (record === undefined) unreadable.push(stored.sequence);
        else if (matches(query, record) && records.push(record) > query.limit) {
          records.pop();
          return { records, next: records.at(-1)?.sequence, upToSequence };
        }
      }
      count += chunk.records.length;
      next = chunk.end;
    } while (next !== undefined && count < MAX_READ_PER_PAGE);
    return { records, next, upToSequence };
  }

  #streamsOf({ actions }: AuditQuery): string[] {
    const { auditChanges, auditDenials } = this.#options.keys;
    if (actions.every(isDenial)) return [auditDenials];
    return actions.some(isDenial) ? [auditChanges, auditDenials] : [auditChanges];
  }
}

/** A move between locations belongs to both. Footage URLs belong to every device in the record's keys. */
function matches(query: AuditQuery, record: AuditRecord): boolean {
  const { actions, afterMs = -Infinity, beforeMs = Infinity } = query;
  const { locationId, actorId, resourceId } = query;
  const { details } = record;
  return (
    actions.includes(record.action) &&
    record.atMs > afterMs &&
    record.atMs < beforeMs &&
    (locationId === undefined ||
      [record.locationId, details['targetLocationId']].includes(locationId)) &&
    (actorId === undefined || record.actor.id === actorId) &&
    (resourceId === undefined ||
      record.resourceId === resourceId ||
      // With or without `devices/` before it (docs/reference/contract.md, 3).
      ['"', '"devices/'].some((begin) => details['keys']?.includes(`${begin}${resourceId}/`)))
  );
}
