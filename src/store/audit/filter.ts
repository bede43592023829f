import { z } from 'zod';
import type { AuditQuery } from '../../site/audit-trail.js';
import { NUMBER_DIGITS } from './records.js';

/** Which records are wanted; undefined stands for any. */
export type AuditFilter = Pick<AuditQuery, 'locationId' | 'actorId' | 'resourceId'>;

const memberSchema = z.tuple([
  z.object({
    actor: z.object({ id: z.string().nullable() }),
    locationId: z.string().nullable(),
    resourceId: z.string().nullable(),
    details: z.object({
      targetLocationId: z.string().nullish(),
      keys: z.string().nullish(),
    }),
  }),
  z.unknown(),
]);

/**
 * Whether a record is wanted: the same as `isWanted` of audit-page.lua, for what is not in the store.
 * A move between locations is of both; the URLs of a page are of every device in its keys.
 */
export function isWanted(member: string, filter: AuditFilter): boolean {
  const { locationId, actorId, resourceId } = filter;
  const ids = [locationId, actorId, resourceId].filter((id) => id !== undefined);
  if (ids.length === 0) return true;
  // Decoding takes time: only what has the ids in it at all.
  if (ids.some((id) => !member.includes(id, NUMBER_DIGITS))) return false;
  const [text] = memberSchema.parse(JSON.parse(member.slice(NUMBER_DIGITS)));
  const { actor, details } = text;
  return (
    (locationId === undefined ||
      [text.locationId, details.targetLocationId].includes(locationId)) &&
    (actorId === undefined || actor.id === actorId) &&
    (resourceId === undefined ||
      text.resourceId === resourceId ||
      (details.keys ?? '').includes(`"${resourceId}/`))
  );
}
