/** The records of the audit trail as stored: two streams that share one numbering. */

import { z } from 'zod';
import { parseJson } from '../../domain/notation.js';
import {
  ACTOR_TYPES,
  AUDIT_ACTIONS,
  type AuditEntry,
  type AuditRecord,
  isDenial,
} from '../../site/audit-trail.js';
import type { ChangeRecord } from '../site/change.js';
import type { Store } from '../store.js';

/** Redis serves nobody else during a command: a megabyte or two with the longest records. */
const RECORDS_PER_CALL = 200;

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

/** A record as stored (write-change.lua). */
export interface StoredRecord extends Omit<ChangeRecord, 'isDenial'> {
  readonly sequence: number;
}

/** Builds records for the store. */
export class AuditRecords {
  readonly #steadyNow: () => number;

  /** @param steadyNow the clock that measures the age of records */
  constructor(steadyNow: () => number) {
    this.#steadyNow = steadyNow;
  }

  of(entry: AuditEntry): ChangeRecord {
    const { action, atMs } = entry;
    const steadyMs = this.#steadyNow();
    return { isDenial: isDenial(action), atMs, steadyMs, text: recordText(entry) };
  }
}

/** The entry as JSON without its time. Lua's JSON library cannot read a lone surrogate. */
export function recordText({ atMs: _, ...entry }: AuditEntry): string {
  return JSON.stringify(entry, (_, value: unknown) =>
    typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value,
  );
}

/** Parses a record; undefined if it is damaged or from a later version. */
export function parseRecord({ sequence, atMs, text }: StoredRecord): AuditRecord | undefined {
  const entry = entrySchema.safeParse(parseJson(text)).data;
  return entry && Number.isFinite(atMs) ? { sequence, atMs, ...entry } : undefined;
}

/** The number of the newest record in the streams; 0 for none. */
export async function newestNumber(store: Store, streams: readonly string[]): Promise<number> {
  const newest = streams.map((key) =>
    store.read((redis) => redis.xrevrange(key, '+', '-', 'COUNT', 1)),
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
export async function readRecords(
  store: Store,
  streams: readonly string[],
  order: 'asc' | 'desc',
  after: number | undefined,
  upTo: number,
): Promise<{ readonly records: readonly StoredRecord[]; readonly end: number | undefined }> {
  const sign = order === 'asc' ? 1 : -1;
  const first = order === 'asc' ? (after ?? 0) + 1 : Math.min(upTo, (after ?? Infinity) - 1);
  const read = async (key: string) => {
    const rows = await store.read((redis) =>
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

function storedRecord([id, fields]: [id: string, fields: string[]]): StoredRecord {
  const [, atMs, , steadyMs, , text = ''] = fields;
  const sequence = Number.parseInt(id, 10);
  return { sequence, atMs: Number(atMs), steadyMs: Number(steadyMs), text };
}
