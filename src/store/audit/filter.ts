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
 * Whether an archived record is wanted, as `isWanted` of audit-page.lua decides.
 *
 * A move between locations belongs to both. Footage URLs belong to every device in the page's keys.
 */
export function isWanted(member: string, filter: AuditFilter): boolean {
  const { locationId, actorId, resourceId } = filter;
  const ids = [locationId, actorId, resourceId].filter((id) => id !== undefined);
  if (ids.length === 0) return true;
  // Decoding takes time, so records without the ids in their text are skipped.
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
