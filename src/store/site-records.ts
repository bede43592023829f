/** Writes the site's records into Redis hashes, and reads them again. */

import { z } from 'zod';
import { ROLES } from '../domain/grants.js';
import { DEVICE_LIMITS, type OwnLimits, ownLimitsSchema } from '../domain/limits.js';
import { isJson, objectMembers } from '../domain/notation.js';
import type { AccessToken, Device, Group, Location, Room } from '../domain/site.js';

type Fields = readonly (string | number)[];

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

/** A record as stored: its id, then fields and values in turn. */
export type RawRecord = readonly [id: string, fields: readonly string[]];

/** Parses a record; undefined for one that lacks what its kind must hold. */
type Reading<T> = (raw: RawRecord) => T | undefined;

function readWith<T>(schema: z.ZodType<T>): Reading<T> {
  return ([id, fields]) => {
    const record = new Map<string, string>([['id', id]]);
    for (let at = 0; at + 1 < fields.length; at += 2) {
      record.set(fields[at] ?? '', fields[at + 1] ?? '');
    }
    return schema.safeParse(Object.fromEntries(record)).data;
  };
}

/** The field of one of a device's own limits: one each, so that two changes at once are both made. */
export function limitField(name: string): string {
  return `limit:${name}`;
}

/** An unusable limit is left out: the device has that of all devices. */
function readLimits(fields: Readonly<Record<string, unknown>>): OwnLimits {
  const limits = DEVICE_LIMITS.map((name) => [name, Number(fields[limitField(name)])]);
  const readable = limits.filter(([, limit]) => Number.isInteger(limit));
  return ownLimitsSchema.safeParse(Object.fromEntries(readable)).data ?? {};
}

export const readLocation: Reading<Location> = readWith(locationSchema);
export const readGroup: Reading<Group> = readWith(groupSchema);
export const readRoom: Reading<Room> = readWith(roomSchema);
export const readDevice: Reading<Device> = readWith(deviceSchema);
export const readAccessToken: Reading<AccessToken> = readWith(accessTokenSchema);

export function locationFields(location: Location): Fields {
  return ['name', location.name, 'order', location.order];
}

export function groupFields(group: Group): Fields {
  return ['locationId', group.locationId, 'name', group.name, 'order', group.order];
}

export function roomFields(room: Room): Fields {
  return [
    ...['locationId', room.locationId],
    ...(room.groupId === null ? [] : ['groupId', room.groupId]),
    ...['name', room.name],
    ...['order', room.order],
  ];
}

export function deviceFields(device: Device): Fields {
  return [
    ...['locationId', device.locationId],
    ...(device.roomId === null ? [] : ['roomId', device.roomId]),
    ...['name', device.name],
    ...['order', device.order],
    ...['createdAtMs', device.createdAtMs],
    ...['secretHash', device.secretHash],
    ...['customData', device.customData],
    ...Object.entries(device.limits).flatMap(([name, limit]) => [limitField(name), limit]),
  ];
}

export function accessTokenFields(token: AccessToken): Fields {
  return [
    ...['name', token.name],
    ...['grants', JSON.stringify(token.grants)],
    ...['tokenHash', token.tokenHash],
    ...['order', token.order],
    ...['createdAtMs', token.createdAtMs],
    ...(token.expiresAtMs === null ? [] : ['expiresAtMs', token.expiresAtMs]),
  ];
}
