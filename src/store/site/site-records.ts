/** Writes and reads the site's records as JSON. */

import { z } from 'zod';
import { ROLES } from '../../domain/grants.js';
import { ownLimitsSchema } from '../../domain/limits.js';
import { isJson, objectMembers, parseJson } from '../../domain/notation.js';
import type { RecordKind, RecordOfKind } from '../../domain/site.js';
import { silentAfterSchema } from '../../domain/time/supervision.js';

const objectText = z.string().refine((text) => isJson(text) && objectMembers(text) !== undefined);

const locationSchema = z.object({ id: z.string(), name: z.string(), order: z.number() });
const groupSchema = locationSchema.extend({ locationId: z.string() });
const roomSchema = groupSchema.extend({ groupId: z.string().nullable() });
const deviceSchema = groupSchema.extend({
  roomId: z.string().nullable(),
  createdAtMs: z.number(),
  secretHash: z.string(),
  customData: objectText,
  /** If unusable, the device has the limits of all devices. */
  limits: ownLimitsSchema.catch({}),
  silentAfterSeconds: silentAfterSchema.optional().catch(undefined),
});
const accessTokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  grants: z.array(
    z.object({ location: z.string(), group: z.string().optional(), role: z.enum(ROLES) }),
  ),
  tokenHash: z.string(),
  order: z.number(),
  createdAtMs: z.number(),
  expiresAtMs: z.number().nullable(),
  isExpiryNoted: z.boolean(),
});

/** Parses the record stored under an id; undefined if it lacks what its kind must have. */
type Reading<T> = (id: string, text: string) => T | undefined;

function readWith<T extends { readonly id: string }>(schema: z.ZodType<T>): Reading<T> {
  return (id, text) => {
    const record = schema.safeParse(parseJson(text)).data;
    return record?.id === id ? record : undefined;
  };
}

/** Reads the records of each kind. */
export const READ_RECORD: { readonly [K in RecordKind]: Reading<RecordOfKind[K]> } = {
  location: readWith(locationSchema),
  group: readWith(groupSchema),
  room: readWith(roomSchema),
  device: readWith(deviceSchema),
  'access-token': readWith(accessTokenSchema),
};

/** Custom data stays a text inside the record, which keeps the customer's spelling. */
export function recordText(record: RecordOfKind[RecordKind]): string {
  return JSON.stringify(record);
}
