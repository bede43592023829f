import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { AccessToken } from '../../domain/site.js';
import { actorOf } from '../actor.js';
import { conditionalActor, entityTag, notModifiedIfKnown, tagged } from '../conditional.js';
import type { RouteServices } from '../dependencies.js';
import {
  createdResponse,
  emptyJsonRequestBody,
  ifMatchHeaders,
  ifNoneMatchHeaders,
  jsonRequestBody,
  jsonResponse,
  noContent,
  notModified,
  problems,
  taggedResponse,
} from '../documents/openapi.js';
import { callerOf, type HttpApp, type HttpEnv } from '../http-env.js';
import { invalidRequest } from '../problem.js';
import {
  accessTokenChangeSchema,
  accessTokenSchema,
  accessTokenView,
  currentTokenSchema,
  issuedTokenSchema,
  newAccessTokenSchema,
} from '../schemas/access-token.js';
import { uuidSchema } from '../schemas/common.js';
import { createdHeaders } from '../server/public-url.js';

const tags = ['Access tokens'];

const collection = '/access-tokens';

const list = createRoute({
  method: 'get',
  path: collection,
  operationId: 'listAccessTokens',
  summary: 'List the access tokens, without the tokens themselves',
  tags,
  responses: {
    200: jsonResponse('Access tokens.', z.array(accessTokenSchema)),
    ...problems.granted,
  },
});

const current = createRoute({
  method: 'get',
  path: `${collection}/current`,
  operationId: 'getCurrentAccessToken',
  summary: 'Show the access token of this request, without the token itself',
  description: 'For every token. The id and name of the admin token are `admin`.',
  tags,
  responses: { 200: jsonResponse('The access token.', currentTokenSchema) },
});

const create = createRoute({
  method: 'post',
  path: collection,
  operationId: 'createAccessToken',
  summary: 'Create an access token; only this answer shows the token',
  tags,
  request: { body: jsonRequestBody(newAccessTokenSchema) },
  responses: {
    201: createdResponse('The access token, with the token itself.', issuedTokenSchema),
    ...problems.granted,
  },
});

const tokenPath = z.object({ tokenId: uuidSchema });

const get = createRoute({
  method: 'get',
  path: `${collection}/{tokenId}`,
  operationId: 'getAccessToken',
  summary: 'Get an access token, without the token itself',
  tags,
  request: { params: tokenPath, headers: ifNoneMatchHeaders },
  responses: { 200: taggedResponse('The access token.', accessTokenSchema), ...notModified },
});

const change = createRoute({
  method: 'patch',
  path: `${collection}/{tokenId}`,
  operationId: 'updateAccessToken',
  summary: 'Change the name, the grants or the expiry of an access token',
  description: 'Other grants count at once, for its MQTT connections too.',
  tags,
  request: {
    params: tokenPath,
    headers: ifMatchHeaders,
    body: jsonRequestBody(accessTokenChangeSchema),
  },
  responses: { 200: taggedResponse('The access token.', accessTokenSchema) },
});

const replaceSecret = createRoute({
  method: 'post',
  path: `${collection}/{tokenId}/secret`,
  operationId: 'replaceAccessTokenSecret',
  summary: 'Renew an access token under the same id; the old one stops working at once',
  description:
    'Only this answer shows the new token. MQTT connections with the old one are closed; sessions and their backlogs stay.',
  tags,
  request: { params: tokenPath, body: emptyJsonRequestBody },
  responses: { 200: jsonResponse('The access token, with the token itself.', issuedTokenSchema) },
});

const remove = createRoute({
  method: 'delete',
  path: `${collection}/{tokenId}`,
  operationId: 'deleteAccessToken',
  summary: 'Delete an access token; its MQTT connections are closed',
  tags,
  request: { params: tokenPath, headers: ifMatchHeaders },
  responses: { 204: noContent },
});

/** For a change, a token counts as unchanged even if it was used meanwhile. */
function tokenTag({ lastUsedAt, ...made }: z.infer<typeof accessTokenSchema>): string {
  return entityTag(made, { lastUsedAt });
}

/** Access tokens, for the administrator (docs/reference/contract.md, 2); everybody sees their own. */
export function registerAccessTokens(app: HttpApp, services: RouteServices): void {
  const { accessTokens, access, readsJson, readsOptionalJson, now, publicUrl } = services;
  const viewOf = (record: AccessToken) =>
    accessTokenView(record, accessTokens.lastUsedAtMs(record.id));
  const actorFor = (c: Context<HttpEnv>, tokenId: string) =>
    conditionalActor(c, () => tokenTag(viewOf(accessTokens.get(tokenId))));
  const answered = (c: Context<HttpEnv>, record: AccessToken) => {
    const view = viewOf(record);
    return tagged(c, view, tokenTag(view));
  };
  const requireFuture = (expiresAtMs: number | null | undefined) => {
    if (typeof expiresAtMs !== 'number' || expiresAtMs > now()) return;
    throw invalidRequest([{ path: 'expiresAt', message: 'must be in the future' }]);
  };

  app.openapi({ ...list, middleware: [access.admin()] }, (c) =>
    c.json(accessTokens.list().map(viewOf), 200),
  );

  app.openapi(current, (c) => {
    const { id, name, grants, expiresAt } = viewOf(accessTokens.get(callerOf(c).id));
    return c.json({ id, name, grants, expiresAt }, 200);
  });

  app.openapi({ ...get, middleware: [access.admin(), notModifiedIfKnown] }, (c) =>
    c.json(answered(c, accessTokens.get(c.req.valid('param').tokenId)), 200),
  );

  app.openapi({ ...create, middleware: [access.admin(), readsJson] }, async (c) => {
    const { name, grants, expiresAt: expiresAtMs = null } = c.req.valid('json');
    requireFuture(expiresAtMs);
    const request = { name, grants, expiresAtMs };
    const { record, token } = await accessTokens.create(actorOf(c), request);
    const headers = createdHeaders(c, record.id, publicUrl);
    return c.json({ ...viewOf(record), token }, 201, headers);
  });

  app.openapi({ ...change, middleware: [access.admin(), readsJson] }, async (c) => {
    const { name, grants, expiresAt: expiresAtMs } = c.req.valid('json');
    requireFuture(expiresAtMs);
    const { tokenId } = c.req.valid('param');
    const request = { name, grants, expiresAtMs };
    const record = await accessTokens.change(actorFor(c, tokenId), tokenId, request);
    return c.json(answered(c, record), 200);
  });

  app.openapi({ ...replaceSecret, middleware: [access.admin(), readsOptionalJson] }, async (c) => {
    const { tokenId } = c.req.valid('param');
    const { record, token } = await accessTokens.replaceSecret(actorOf(c), tokenId);
    return c.json({ ...viewOf(record), token }, 200);
  });

  app.openapi({ ...remove, middleware: [access.admin()] }, async (c) => {
    const { tokenId } = c.req.valid('param');
    await accessTokens.delete(actorFor(c, tokenId), tokenId);
    return c.body(null, 204);
  });
}
