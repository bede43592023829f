/** Access tokens, for the administrator (contract 2); every caller sees its own. */

import { z } from 'zod';
import { isNetwork } from '../../domain/addresses.js';
import { ROLES } from '../../domain/grants.js';
import type { AccessToken } from '../../domain/site.js';
import { formatTime } from '../../domain/time.js';
import { EXAMPLE_ID, EXAMPLE_SECRET, id, instant, Nothing, name, time, uuid } from '../fields.js';
import { invalidRequest } from '../problem.js';
import { admin, anyToken } from '../rights.js';
import { created, del, done, get, json, patch, post, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';

/** The last year that a date-time can have (RFC 3339); an offset may lead beyond it. */
const LAST_YEAR = 9999;

const role = z.enum(ROLES);

/** A new grant; a contradictory one is rejected rather than read as a smaller or larger one. */
const NewGrant = z
  .strictObject({
    location: z.union([z.literal('*'), uuid], 'must be "*" or the id of a location'),
    group: uuid.optional(),
    role,
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
  .meta({ id: 'NewGrant' });

const grants = z.array(NewGrant).min(1);

const networks = z
  .array(z.string().refine(isNetwork, 'must be a network, such as 192.168.1.0/24'))
  .min(1)
  .nullable()
  .optional()
  .meta({
    description:
      'Networks outside of which the token does not exist (CIDR notation); null: everywhere.',
    examples: [['192.168.1.0/24']],
  });

const expiresAt = instant('down')
  .refine(
    (timeMs) => new Date(timeMs).getUTCFullYear() <= LAST_YEAR,
    `must be in the year ${LAST_YEAR} (UTC) at the latest`,
  )
  .nullable()
  .optional()
  .meta({
    type: ['string', 'null'],
    format: 'date-time',
    description: 'In the future; null: never.',
  });

export const NewAccessToken = z.strictObject({ name, grants, expiresAt, networks }).meta({
  id: 'NewAccessToken',
  examples: [{ name: 'Nurse call', grants: [{ location: '*', role: 'viewer' }] }],
});

export const AccessTokenChange = z
  .strictObject({ name: name.optional(), grants: grants.optional(), expiresAt, networks })
  .refine(
    (change) => Object.values(change).some((value) => value !== undefined),
    'must have at least one of name, grants, expiresAt and networks',
  )
  .meta({
    id: 'AccessTokenChange',
    minProperties: 1,
    examples: [{ name: 'Nurse call, ground floor' }],
  });

/** A grant as it is shown. */
export const Grant = z.object({
  location: z.string().meta({ description: 'The id of a location, or `*`.', examples: ['*'] }),
  group: id.optional(),
  role,
});

export const AccessTokenView = z
  .object({
    id,
    name: z.string().meta({ examples: ['Nurse call'] }),
    grants: z.array(Grant),
    createdAt: time,
    expiresAt: time.nullable(),
    networks: z
      .array(z.string())
      .optional()
      .meta({ description: 'Outside of which it does not exist; if it is limited to networks.' }),
    lastUsedAt: time.nullable().meta({
      description: 'When it was last shown, over HTTP or to connect over MQTT; null: never.',
    }),
  })
  .meta({ id: 'AccessToken' });

/** The admin token has no UUID, and was never created. */
export const CurrentAccessToken = AccessTokenView.omit({ createdAt: true, lastUsedAt: true })
  .extend({ id: z.string().meta({ description: 'A UUID, or `admin`.', examples: [EXAMPLE_ID] }) })
  .meta({ id: 'CurrentAccessToken' });

export const IssuedAccessToken = AccessTokenView.extend({
  token: z
    .string()
    .meta({ description: 'The token itself, shown only once.', examples: [EXAMPLE_SECRET] }),
}).meta({ id: 'IssuedAccessToken' });

export function tokenRoutes({ accessTokens, now }: HttpServices): Routes {
  const view = (record: AccessToken): z.infer<typeof AccessTokenView> => {
    const lastUsedAtMs = accessTokens.lastUsedAtMs(record.id);
    return {
      id: record.id,
      name: record.name,
      grants: record.grants.map(({ location, group, role }) => ({
        location,
        ...(group !== undefined && { group }),
        role,
      })),
      createdAt: formatTime(record.createdAtMs),
      expiresAt: record.expiresAtMs === null ? null : formatTime(record.expiresAtMs),
      ...(record.networks !== undefined && { networks: [...record.networks] }),
      lastUsedAt: lastUsedAtMs === null ? null : formatTime(lastUsedAtMs),
    };
  };
  const requireFuture = (expiresAtMs: number | null | undefined) => {
    if (typeof expiresAtMs !== 'number' || expiresAtMs > now()) return;
    throw invalidRequest([{ path: 'expiresAt', message: 'must be in the future' }]);
  };
  return {
    listAccessTokens: get('/access-tokens', {
      tag: 'Access tokens',
      summary: 'List the access tokens, without the tokens themselves',
      right: admin,
      answer: json('Access tokens.', AccessTokenView.array()),
      handle: () => accessTokens.list().map(view),
    }),
    createAccessToken: post('/access-tokens', {
      tag: 'Access tokens',
      summary: 'Create an access token; only this answer shows the token',
      right: admin,
      body: NewAccessToken,
      answer: created('The access token, with the token itself.', IssuedAccessToken),
      handle: async ({ body, caller }) => {
        const { expiresAt: expiresAtMs = null, networks = null } = body;
        requireFuture(expiresAtMs);
        const request = { name: body.name, grants: body.grants, expiresAtMs, networks };
        const { record, token } = await accessTokens.create(caller.actor, request);
        return { ...view(record), token };
      },
    }),
    getCurrentAccessToken: get('/access-tokens/current', {
      tag: 'Access tokens',
      summary: 'Show the access token of this request, without the token itself',
      description: 'For every token. The id and name of the admin token are `admin`.',
      right: anyToken,
      answer: json('The access token.', CurrentAccessToken),
      handle: ({ caller }) => {
        const { createdAt: _, lastUsedAt: __, ...shown } = view(accessTokens.get(caller.token.id));
        return shown;
      },
    }),
    getAccessToken: get('/access-tokens/{tokenId}', {
      tag: 'Access tokens',
      summary: 'Get an access token, without the token itself',
      right: admin,
      answer: json('The access token.', AccessTokenView),
      handle: ({ path }) => view(accessTokens.get(path.tokenId)),
    }),
    updateAccessToken: patch('/access-tokens/{tokenId}', {
      tag: 'Access tokens',
      summary: 'Change the name, the grants, the expiry or the networks of an access token',
      description: 'Other grants count at once, for its MQTT connections too.',
      right: admin,
      body: AccessTokenChange,
      answer: json('The access token.', AccessTokenView),
      handle: async ({ path, body, caller }) => {
        const { expiresAt: expiresAtMs, networks } = body;
        requireFuture(expiresAtMs);
        const request = { name: body.name, grants: body.grants, expiresAtMs, networks };
        return view(await accessTokens.change(caller.actor, path.tokenId, request));
      },
    }),
    replaceAccessTokenSecret: post('/access-tokens/{tokenId}/secret', {
      tag: 'Access tokens',
      summary: 'Renew an access token under the same id; the old one stops working at once',
      description:
        'Only this answer shows the new token. MQTT connections with the old one are closed; sessions and their backlogs stay.',
      right: admin,
      body: Nothing,
      isBodyOptional: true,
      answer: json('The access token, with the token itself.', IssuedAccessToken),
      handle: async ({ path, caller }) => {
        const { record, token } = await accessTokens.replaceSecret(caller.actor, path.tokenId);
        return { ...view(record), token };
      },
    }),
    deleteAccessToken: del('/access-tokens/{tokenId}', {
      tag: 'Access tokens',
      summary: 'Delete an access token; its MQTT connections are closed',
      right: admin,
      answer: done,
      handle: ({ path, caller }) => accessTokens.delete(caller.actor, path.tokenId),
    }),
  };
}
