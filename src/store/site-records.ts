/** Writes the site's records into Redis hashes, and reads them again. */

import { z } from 'zod';
import { ROLES } from '../domain/grants.js';
import { DEVICE_LIMITS, type OwnLimits, ownLimitsSchema } from '../domain/limits.js';
import { isJson, objectMembers } from '../domain/notation.js';
import type { RecordKind, RecordOfKind } from '../domain/site.js';

const grantsSchema = z.array(
  z.object({ location: z.string(), group: z.string().optional(), role: z.enum(ROLES) }),
);
const grantsText = z
  .string()
  .refine(isJson)
  .transform((text): unknown => JSON.parse(text))
  .pipe(grantsSchema);
const objectText = z.string().refine((text) => isJson(text) && objectMembers(text) !== undefined);
const absentIsNull = z
  .string()
  .optional()
  .transform((text) => text ?? null);
// An empty field would be coerced to 0.
const number = z.string().min(1).pipe(z.coerce.number());

const locationSchema = z.object({ id: z.string(), name: z.string(), order: number });
const groupSchema = z.object({
  id: z.string(),
  locationId: z.string(),
  name: z.string(),
  order: number,
});
const roomSchema = groupSchema.extend({ groupId: absentIsNull });
const deviceSchema = z
  .looseObject({
    ...groupSchema.shape,
    roomId: absentIsNull,
    createdAtMs: number,
    secretHash: z.string(),
    customData: objectText,
  })
  .transform(
    ({ id, locationId, roomId, name, order, createdAtMs, secretHash, customData, ...more }) => ({
      id,
      locationId,
      roomId,
      name,
      order,
      createdAtMs,
      secretHash,
      customData,
      limits: readLimits(more),
    }),
  );
const accessTokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  grants: grantsText,
  tokenHash: z.string(),
  order: number,
  createdAtMs: number,
  expiresAtMs: number.optional().transform((timeMs) => timeMs ?? null),
  isExpiryNoted: absentIsNull.transform((text) => text !== null),
});

/** Parses a record's fields; undefined when they lack what its kind must hold. */
type Reading<T> = (id: string, fields: Readonly<Record<string, string>>) => T | undefined;

function readWith<T>(schema: z.ZodType<T>): Reading<T> {
  return (id, fields) => schema.safeParse({ ...fields, id }).data;
}

/** The field of one of a device's own limits. */
function limitField(name: string): string {
  return `limit:${name}`;
}

/** An unusable limit is left out: the device has that of all devices. */
function readLimits(fields: Readonly<Record<string, unknown>>): OwnLimits {
  const limits = DEVICE_LIMITS.map((name) => [name, Number(fields[limitField(name)])]);
  const readable = limits.filter(([, limit]) => Number.isInteger(limit));
  return ownLimitsSchema.safeParse(Object.fromEntries(readable)).data ?? {};
}

/** Reads the records of each kind. */
export const READ_RECORD: { readonly [K in RecordKind]: Reading<RecordOfKind[K]> } = {
  location: readWith(locationSchema),
  group: readWith(groupSchema),
  room: readWith(roomSchema),
  device: readWith(deviceSchema),
  'access-token': readWith(accessTokenSchema),
};

/** Formats a record's fields: what is null or false has none. */
export function recordFields({ id: _, ...record }: RecordOfKind[RecordKind]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(record)) {
    if (value === null || value === false) continue;
    if (name === 'limits')
      for (const [limit, most] of Object.entries(value))
        fields.set(limitField(limit), String(most));
    else if (value === true) fields.set(name, '1');
    else fields.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  return fields;
}
