import { createRoute, z } from '@hono/zod-openapi';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, NO_SECURITY } from '../openapi.js';
import { openApiDocument } from '../openapi-document.js';

const getDocument = createRoute({
  method: 'get',
  path: '/openapi.json',
  operationId: 'getOpenApiDocument',
  summary: 'This document',
  tags: ['Operation'],
  security: NO_SECURITY,
  responses: { 200: jsonResponse('The OpenAPI document.', z.looseObject({})) },
});

/** `/openapi.json`, open to everybody. */
export function registerOpenApiDocument(app: HttpApp, version: string): void {
  // Made once, at the first request, when all routes are registered: it is open to everybody, and
  // takes a thousand times as long to make as to send.
  let document: Record<string, unknown> | undefined;
  app.openapi(getDocument, (c) => {
    document ??= { ...openApiDocument(app, version) };
    return c.json(document, 200);
  });
}
