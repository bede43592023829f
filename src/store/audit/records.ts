/** Writes records of the audit trail into the store, and reads them again. */

import { z } from 'zod';
import {
  ACTOR_TYPES,
  AUDIT_ACTIONS,
  type AuditEntry,
  type AuditRecord,
} from '../../site/audit-trail.js';
import type { ChangeRecord } from '../change.js';
import type { Keys } from '../keys.js';

/** Digits of a record's number in front of it (apply-change.lua). */
export const NUMBER_DIGITS = 12;

const detailsSchema = z.record(z.string(), z.string().nullable());
const textSchema = z.object({
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
const memberSchema = z.tuple([textSchema, detailsSchema]);

/** Details to take from the site's records as of before the change. */
export type Before = Readonly<Record<string, readonly [key: string, field: string]>>;

/** Builds records for the store. */
export class AuditRecords {
  readonly #keys: Keys;

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  of(entry: AuditEntry, before: Before = {}): ChangeRecord {
    const { atMs, ...text } = entry;
    return {
      index: this.#keys.audit(entry.action),
      sequence: this.#keys.auditSequence,
      atMs,
      text: JSON.stringify(text, (_, value: unknown) => wellFormed(value)),
      before: Object.entries(before).map(([name, [key, field]]) => [name, key, field]),
    };
  }
}

/** The number as written in front of a record. */
export function formatAuditNumber(sequence: number): string {
  return String(sequence).padStart(NUMBER_DIGITS, '0');
}

/** The number of a record, from its index. */
export function auditNumberOf(member: string): number {
  return Number(member.slice(0, NUMBER_DIGITS));
}

/** Reads a record from its index. */
export function readAuditRecord(atMs: number, member: string): AuditRecord {
  const [text, before] = memberSchema.parse(JSON.parse(member.slice(NUMBER_DIGITS)));
  const sequence = auditNumberOf(member);
  return { ...text, sequence, atMs, details: { ...text.details, ...before } };
}

/** Lua's JSON library does not read a lone surrogate. */
function wellFormed(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value;
}
