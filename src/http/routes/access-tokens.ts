import { createRoute, z } from '@hono/zod-openapi';
import { actorOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import {
  createdResponse,
  jsonRequestBody,
  jsonResponse,
  noContent,
  problems,
} from '../documents/openapi.js';
import { callerOf, type HttpApp } from '../http-env.js';
import { invalidRequest } from '../problem.js';
import {
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
  responses: {
    200: jsonResponse('The access token.', currentTokenSchema),
    ...problems.caller,
  },
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
    ...problems.body,
    ...problems.store,
  },
});

const remove = createRoute({
  method: 'delete',
  path: `${collection}/{tokenId}`,
  operationId: 'deleteAccessToken',
  summary: 'Delete an access token; its MQTT connections are closed',
  tags,
  request: { params: z.object({ tokenId: uuidSchema }) },
  responses: { 204: noContent, ...problems.resource, ...problems.store },
});

/** Access tokens, for the administrator (docs/contract.md, 2); everybody sees their own. */
export function registerAccessTokens(app: HttpApp, services: RouteServices): void {
  const { accessTokens, access, readsJson, now, publicUrl } = services;

  app.openapi({ ...list, middleware: [access.admin()] }, (c) =>
    c.json(accessTokens.list().map(accessTokenView), 200),
  );

  app.openapi(current, (c) => {
    const { createdAt: _, ...shown } = accessTokenView(accessTokens.get(callerOf(c).id));
    return c.json(shown, 200);
  });

  app.openapi({ ...create, middleware: [access.admin(), readsJson] }, async (c) => {
    const { name, grants, expiresAt: expiresAtMs = null } = c.req.valid('json');
    if (expiresAtMs !== null && expiresAtMs <= now()) {
      throw invalidRequest([{ path: 'expiresAt', message: 'must be in the future' }]);
    }
    const request = { name, grants, expiresAtMs };
    const { record, token } = await accessTokens.create(actorOf(c), request);
    const headers = createdHeaders(c, record.id, publicUrl);
    return c.json({ ...accessTokenView(record), token }, 201, headers);
  });

  app.openapi({ ...remove, middleware: [access.admin()] }, async (c) => {
    await accessTokens.delete(actorOf(c), c.req.valid('param').tokenId);
    return c.body(null, 204);
  });
}
