import type { AuditEntry } from './audit-trail.js';

/** The denied client chooses its topics, paths and client ids, of any length. */
const MAX_DETAIL_LENGTH = 256;

/** Details of a denied request for its record, at most 256 characters of each. */
export function refusalDetails(details: AuditEntry['details']): AuditEntry['details'] {
  const pairs = Object.entries(details).map(([name, text]) => [
    name,
    text?.slice(0, MAX_DETAIL_LENGTH) ?? null,
  ]);
  return Object.fromEntries(pairs);
}
