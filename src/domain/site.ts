/** Locations, rooms, groups, devices and access tokens, as the gateway knows and stores them. */

import { z } from 'zod';
import { ROLES } from './grants.js';
import { isJson, objectMembers } from './json.js';
import { silentAfterSchema } from './rules.js';

const location = z.object({
  id: z.string(),
  name: z.string(),
  /** Rises with every creation; lists are in this order. */
  order: z.number(),
});
const group = location.extend({ locationId: z.string() });
const device = group.extend({
  roomId: z.string().nullable(),
  createdAtMs: z.number(),
  /** SHA-256 of the secret, hexadecimal. */
  secretHash: z.string(),
  /** When it got that in place of another one: certificates issued before are revoked. */
  secretRenewedAtMs: z.number().optional(),
  /** JSON text of an object, which keeps the customer's spelling. */
  customData: z.string().refine((text) => isJson(text) && objectMembers(text) !== undefined),
  /** After how many seconds without a packet it is silent; undefined: as the configuration says. */
  silentAfterSeconds: silentAfterSchema.optional().catch(undefined),
});
const grant = z.object({
  location: z.string(),
  group: z.string().optional(),
  role: z.enum(ROLES),
});
const accessToken = location.extend({
  grants: z.array(grant).readonly(),
  /** SHA-256 of the token, hexadecimal. */
  tokenHash: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number().nullable(),
  /** Networks outside of which the token does not exist; undefined: it exists everywhere. */
  networks: z.array(z.string()).readonly().optional(),
});

const schemas = {
  location,
  group,
  room: group.extend({ groupId: z.string().nullable() }),
  device,
  'access-token': accessToken,
} as const;

export const RECORD_KINDS = ['location', 'group', 'room', 'device', 'access-token'] as const;
export type RecordKind = (typeof RECORD_KINDS)[number];

/** The record of each kind. */
export type RecordOfKind = {
  readonly [Kind in RecordKind]: Readonly<z.infer<(typeof schemas)[Kind]>>;
};
/** What a stored record of each kind must have; what else it has is left out. */
export const RECORD_SCHEMAS: {
  readonly [Kind in RecordKind]: z.ZodType<RecordOfKind[Kind]>;
} = schemas;

export type Location = RecordOfKind['location'];
export type Group = RecordOfKind['group'];
export type Room = RecordOfKind['room'];
export type Device = RecordOfKind['device'];
export type AccessToken = RecordOfKind['access-token'];

/** All records of the site. */
export type SiteRecords = { readonly [Kind in RecordKind]: readonly RecordOfKind[Kind][] };

/** One record before and after a change; undefined while it does not exist. */
export interface RecordChange<Kind extends RecordKind = RecordKind> {
  readonly kind: Kind;
  readonly before: RecordOfKind[Kind] | undefined;
  readonly after: RecordOfKind[Kind] | undefined;
}
