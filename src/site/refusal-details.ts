import type { AuditEntry } from './audit-trail.js';

/** Topics, paths and client ids are what the refused one likes. */
const MAX_DETAIL_LENGTH = 256;

/** What a record tells of a refused request, at most 256 characters of each detail. */
export function refusalDetails(details: AuditEntry['details']): AuditEntry['details'] {
  const pairs = Object.entries(details).map(([name, text]) => [
    name,
    text?.slice(0, MAX_DETAIL_LENGTH) ?? null,
  ]);
  return Object.fromEntries(pairs);
}
