/**
 * The audit trail: changes in one stream of Redis, denials in another, with one numbering.
 *
 * A change and its record are one write (`commit`). The newest million changes and 100,000 denials are kept, for as
 * long as the configuration says by the steady clock: the machine's may be wrong, and must not erase the trail.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { parseJson } from '../domain/json.js';
import type { Retention } from '../releasers.js';
import {
  ACTOR_TYPES,
  AUDIT_ACTIONS,
  type AuditAction,
  type AuditEntry,
  type AuditTrail,
  isDenial,
} from '../site/audit-trail.js';
import type { Keys } from './keys.js';
import type { Commit, RecordToWrite, Store } from './store.js';
import { answering } from './store.js';

/** Redis serves nobody else during a command: a megabyte or two with the longest records. */
const RECORDS_PER_CALL = 200;
/** Bounds the wait for a filter that excludes nearly everything. */
const MAX_READ_PER_PAGE = 10_000;

const entrySchema = z.object({
  action: z.enum(AUDIT_ACTIONS),
  actor: z.object({
    type: z.enum(ACTOR_TYPES),
    id: z.string().nullable(),
    address: z.string().nullable(),
    requestId: z.string().nullable(),
  }),
  locationId: z.string().nullable(),
  resourceId: z.string().nullable(),
  details: z.record(z.string(), z.string().nullable()),
});

/** An entry as stored. */
export interface AuditRecord extends AuditEntry {
  /** The record's number, in the order of writing. */
  readonly sequence: number;
}

export interface AuditQuery {
  readonly actions: readonly AuditAction[];
  /** Exclusive bounds of the records' own times. */
  readonly beforeMs: number | undefined;
  readonly afterMs: number | undefined;
  /** Only records that concern this location; a move between locations concerns both. */
  readonly locationId: string | undefined;
  readonly actorId: string | undefined;
  readonly resourceId: string | undefined;
  /** The order of the numbers. */
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  /** Records written after this one, and so after the first page was read, are left out. */
  readonly upToSequence: number | undefined;
  /** The number of the record that the page starts after. */
  readonly position: number | undefined;
}

export interface AuditPage {
  readonly records: readonly AuditRecord[];
  /** The `position` of the next page, undefined on the last one. */
  readonly next: number | undefined;
  readonly upToSequence: number;
}

/** A record as read. */
interface StoredRecord extends Omit<RecordToWrite, 'isDenial'> {
  readonly sequence: number;
}

export interface AuditStoreOptions {
  readonly store: Store;
  readonly keys: Keys;
  /** The clock that measures the age of records. */
  readonly steadyNow: () => number;
  readonly log: Logger;
}

export class AuditStore implements AuditTrail {
  readonly #options: AuditStoreOptions;

  constructor(options: AuditStoreOptions) {
    this.#options = options;
  }

  /** The entry as `commit` writes it. */
  recordOf(entry: AuditEntry): RecordToWrite {
    const { action, atMs } = entry;
    const steadyMs = this.#options.steadyNow();
    return { isDenial: isDenial(action), atMs, steadyMs, text: recordText(entry) };
  }

  async record(entries: readonly AuditEntry[]): Promise<void> {
    await this.commit({ commands: [], records: entries.map((entry) => this.recordOf(entry)) });
  }

  /**
   * Makes a change together with its records.
   *
   * @returns false, with nothing written, if a condition does not hold
   * @throws GatewayError `store-unavailable`
   */
  async commit(change: Commit): Promise<boolean> {
    const { store } = this.#options;
    return (await answering(() => store.commit(change))) !== undefined;
  }

  /**
   * Reads a page, in the order of writing.
   *
   * A page may have fewer than `limit` records and still not be the last, when its filters leave out very many.
   *
   * @throws GatewayError `store-unavailable`
   */
  async page(query: AuditQuery): Promise<AuditPage> {
    // Left out: they must not hide the others.
    const unreadable: number[] = [];
    const page = await answering(() => this.#read(query, unreadable));
    const { log } = this.#options;
    if (unreadable.length > 0) log.error({ sequences: unreadable }, 'failed to read audit records');
    return page;
  }

  /** Removes the records that are older than this. */
  retention(maxAgeMs: number): Retention {
    return { removeOld: (stopping) => this.#removeOld(maxAgeMs, stopping) };
  }

  async #removeOld(maxAgeMs: number, stopping: AbortSignal): Promise<number> {
    const { store, keys, steadyNow } = this.#options;
    const streams = [keys.auditChanges, keys.auditDenials];
    const keptFromMs = steadyNow() - maxAgeMs;
    let removed = 0;
    while (!stopping.aborted) {
      const { records } = await this.#chunk(streams, 'asc', 0, Number.MAX_SAFE_INTEGER);
      const firstKept = records.findIndex(({ steadyMs }) => steadyMs >= keptFromMs);
      const last = (firstKept === -1 ? records : records.slice(0, firstKept)).at(-1);
      if (last === undefined) break;
      for (const key of streams) {
        const [trimmed] = await store.write(['XTRIM', key, 'MINID', String(last.sequence + 1)]);
        removed += Number(trimmed);
      }
    }
    return removed;
  }

  async #read(query: AuditQuery, unreadable: number[]): Promise<AuditPage> {
    const streams = this.#streamsOf(query);
    const upToSequence = query.upToSequence ?? (await this.#newestNumber(streams));
    const records: AuditRecord[] = [];
    let next = query.position;
    let count = 0;
    do {
      const chunk = await this.#chunk(streams, query.order, next, upToSequence);
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

  /** The number of the newest record in the streams; 0 for none. */
  async #newestNumber(streams: readonly string[]): Promise<number> {
    const newest = streams.map((key) =>
      this.#options.store.read((redis) => redis.xrevrange(key, '+', '-', 'COUNT', 1)),
    );
    const records = (await Promise.all(newest)).flat().map(storedRecord);
    return Math.max(0, ...records.map(({ sequence }) => sequence));
  }

  /**
   * Reads the next records of the streams, in the order of their numbers.
   *
   * @param after the number to continue from; undefined to begin
   * @param upTo the highest number: one already given, because the streams are not read at the same moment
   * @returns `end` is the number reached; undefined when no records follow
   */
  async #chunk(
    streams: readonly string[],
    order: 'asc' | 'desc',
    after: number | undefined,
    upTo: number,
  ): Promise<{ readonly records: readonly StoredRecord[]; readonly end: number | undefined }> {
    const sign = order === 'asc' ? 1 : -1;
    const first = order === 'asc' ? (after ?? 0) + 1 : Math.min(upTo, (after ?? Infinity) - 1);
    const read = async (key: string) => {
      const rows = await this.#options.store.read((redis) =>
        order === 'asc'
          ? redis.xrange(key, `${first}-0`, `${upTo}-0`, 'COUNT', RECORDS_PER_CALL)
          : redis.xrevrange(key, `${first}-0`, '-', 'COUNT', RECORDS_PER_CALL),
      );
      return rows.map(storedRecord);
    };
    const chunks = await Promise.all(streams.map(read));
    // After a full chunk its stream has more, so take the other only up to there.
    const full = chunks.filter(({ length }) => length === RECORDS_PER_CALL);
    const end = Math.min(...full.map((chunk) => sign * (chunk.at(-1)?.sequence ?? 0)));
    const records = chunks
      .flat()
      .filter(({ sequence }) => sign * sequence <= end)
      .sort((one, other) => sign * (one.sequence - other.sequence));
    return { records, end: full.length === 0 ? undefined : sign * end };
  }
}

/** The entry as JSON without its time. Lua's JSON library cannot read a lone surrogate. */
export function recordText({ atMs: _, ...entry }: AuditEntry): string {
  return JSON.stringify(entry, (_, value: unknown) =>
    typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value,
  );
}

/** Parses a record; undefined if it is damaged or from a later version. */
function parseRecord({ sequence, atMs, text }: StoredRecord): AuditRecord | undefined {
  const entry = entrySchema.safeParse(parseJson(text)).data;
  return entry && Number.isFinite(atMs) ? { sequence, atMs, ...entry } : undefined;
}

function storedRecord([id, fields]: [id: string, fields: string[]]): StoredRecord {
  const [, atMs, , steadyMs, , text = ''] = fields;
  const sequence = Number.parseInt(id, 10);
  return { sequence, atMs: Number(atMs), steadyMs: Number(steadyMs), text };
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
    (locationId === undefined || [record.locationId, details['locationId']].includes(locationId)) &&
    (actorId === undefined || record.actor.id === actorId) &&
    (resourceId === undefined ||
      record.resourceId === resourceId ||
      // With or without `devices/` before it (contract 3).
      ['"', '"devices/'].some((begin) => details['keys']?.includes(`${begin}${resourceId}/`)))
  );
}
