/** Writes records of the audit trail into the store and its files, and reads them again. */

import { z } from 'zod';
import { parseJson } from '../../domain/notation.js';
import {
  ACTOR_TYPES,
  AUDIT_ACTIONS,
  type AuditEntry,
  type AuditPosition,
  type AuditRecord,
} from '../../site/audit-trail.js';
import type { ChangeRecord } from '../change.js';
import type { Keys } from '../keys.js';

const detailsSchema = z.record(z.string(), z.string().nullable());
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
  details: detailsSchema,
});
/** Layout 4 and earlier have some of the details behind the entry. */
const storedSchema = z.tuple([entrySchema], detailsSchema);

/** A record as stored: most are moved or passed over without being parsed. */
export interface StoredRecord extends AuditPosition {
  /** JSON: an array of the entry (write-change.lua). */
  readonly text: string;
}

/** Builds records for the store. */
export class AuditRecords {
  readonly #keys: Keys;

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  of(entry: AuditEntry): ChangeRecord {
    const { atMs, ...text } = entry;
    return {
      stream: this.#keys.auditLog,
      sequence: this.#keys.auditSequence,
      atMs,
      text: JSON.stringify(text, (_, value: unknown) => wellFormed(value)),
    };
  }
}

/** Parses a record; undefined when it is damaged, or a later version's. */
export function parseRecord({ sequence, atMs, text }: StoredRecord): AuditRecord | undefined {
  const stored = storedSchema.safeParse(parseJson(text)).data;
  if (stored === undefined) return undefined;
  const [entry, further] = stored;
  return { sequence, atMs, ...entry, details: { ...entry.details, ...further } };
}

/** Compares positions in the order of time, then of number: below 0 when `one` comes first. */
export function compareInTrail(one: AuditPosition, other: AuditPosition): number {
  return one.atMs - other.atMs || one.sequence - other.sequence;
}

/** Lua's JSON library does not read a lone surrogate. */
function wellFormed(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value;
}
