import { z } from '@hono/zod-openapi';
import { ROLES } from '../../domain/grants.js';
import type { AccessToken } from '../../domain/site.js';
import { formatTime } from '../../domain/time.js';
import {
  EXAMPLE_ID,
  idSchema,
  instantSchema,
  nameSchema,
  timestampSchema,
  uuidSchema,
} from './common.js';

const anyLocation = z.literal('*');
const roleSchema = z.enum(ROLES);
/** The last year that a date-time can have (RFC 3339); an offset may lead beyond it. */
const LAST_YEAR = 9999;

/** A new grant; a contradictory one is rejected rather than read as a smaller or larger one. */
const newGrantSchema = z
  .strictObject({
    location: z.union([anyLocation, uuidSchema], 'must be "*" or the id of a location'),
    group: uuidSchema.optional(),
    role: roleSchema,
  })
  .superRefine((grant, context) => {
    const faultAt = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (grant.role === 'admin' && grant.location !== '*') {
      faultAt('role', 'admin is possible with the location "*" only');
    }
    if (grant.role === 'admin' && grant.group !== undefined) {
      faultAt('group', 'is not possible for the role admin');
    }
    if (grant.group !== undefined && grant.location === '*') {
      faultAt('group', 'needs the location in which the group is');
    }
  })
  .openapi('NewGrant');

const grantsSchema = z.array(newGrantSchema).min(1);

const expirySchema = instantSchema
  .refine(
    (timeMs) => new Date(timeMs).getUTCFullYear() <= LAST_YEAR,
    `must be in the year ${LAST_YEAR} (UTC) at the latest`,
  )
  .nullable()
  .optional()
  .openapi({
    type: ['string', 'null'],
    format: 'date-time',
    description: 'In the future; null: never.',
  });

export const newAccessTokenSchema = z
  .strictObject({ name: nameSchema, grants: grantsSchema, expiresAt: expirySchema })
  .openapi('NewAccessToken', {
    example: { name: 'Nurse call', grants: [{ location: '*', role: 'viewer' }] },
  });

export const accessTokenChangeSchema = z
  .strictObject({
    name: nameSchema.optional(),
    grants: grantsSchema.optional(),
    expiresAt: expirySchema,
  })
  .refine(
    (change) => Object.values(change).some((value) => value !== undefined),
    'must have at least one of name, grants and expiresAt',
  )
  .openapi('AccessTokenChange', {
    minProperties: 1,
    example: { name: 'Nurse call, ground floor' },
  });

export const grantSchema = z.object({
  location: z.string().openapi({ description: 'The id of a location, or `*`.', example: '*' }),
  group: idSchema.optional(),
  role: roleSchema,
});

export const accessTokenSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Nurse call' }),
    grants: z.array(grantSchema),
    createdAt: timestampSchema,
    expiresAt: timestampSchema.nullable(),
    lastUsedAt: timestampSchema.nullable().openapi({
      description: 'When it was last shown, over HTTP or to connect over MQTT; null: never.',
    }),
  })
  .openapi('AccessToken');

/** The admin token has no UUID, and was never created. */
export const currentTokenSchema = accessTokenSchema
  .omit({ createdAt: true, lastUsedAt: true })
  .extend({ id: z.string().openapi({ description: 'A UUID, or `admin`.', example: EXAMPLE_ID }) })
  .openapi('CurrentAccessToken');

export const issuedTokenSchema = accessTokenSchema
  .extend({
    token: z.string().openapi({
      description: 'The token itself, shown only once.',
      example: 'zvjLO6xy254jZ6ZjSlp6EyWlp8RY_FuagsCD0j-QCwA',
    }),
  })
  .openapi('IssuedAccessToken');

/** An access token in a response, without the token itself and its hash. */
export function accessTokenView(
  record: AccessToken,
  lastUsedAtMs: number | null,
): z.infer<typeof accessTokenSchema> {
  return {
    id: record.id,
    name: record.name,
    grants: record.grants.map(({ location, group, role }) => ({
      location,
      ...(group === undefined ? {} : { group }),
      role,
    })),
    createdAt: formatTime(record.createdAtMs),
    expiresAt: record.expiresAtMs === null ? null : formatTime(record.expiresAtMs),
    lastUsedAt: lastUsedAtMs === null ? null : formatTime(lastUsedAtMs),
  };
}
