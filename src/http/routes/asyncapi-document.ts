import { createRoute, z } from '@hono/zod-openapi';
import { asyncApiDocument } from '../asyncapi-document.js';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, NO_SECURITY } from '../openapi.js';

const getDocument = createRoute({
  method: 'get',
  path: '/asyncapi.json',
  operationId: 'getAsyncApiDocument',
  summary: 'The MQTT side, described',
  tags: ['Operation'],
  security: NO_SECURITY,
  responses: { 200: jsonResponse('The AsyncAPI document.', z.looseObject({})) },
});

/** `/asyncapi.json`, open to everybody. */
export function registerAsyncApiDocument(app: HttpApp, version: string): void {
  const document = asyncApiDocument(version);
  app.openapi(getDocument, (c) => c.json(document, 200));
}
