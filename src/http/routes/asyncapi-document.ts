import { createRoute, z } from '@hono/zod-openapi';
import { asyncApiDocument } from '../asyncapi-document.js';
import type { HttpApp } from '../http-env.js';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import { NO_SECURITY, preparedJson } from '../openapi.js';
import { SharedAnswer } from '../shared-answer.js';

const getDocument = createRoute({
  method: 'get',
  path: '/asyncapi.json',
  operationId: 'getAsyncApiDocument',
  summary: 'The MQTT side, described',
  tags: ['Operation'],
  security: NO_SECURITY,
  responses: {
    200: preparedJson(
      'The AsyncAPI document.',
      z.looseObject({}).openapi({ example: { asyncapi: '3.0.0' } }),
    ),
  },
});

/** `/asyncapi.json`, open to everybody. */
export function registerAsyncApiDocument(app: HttpApp, version: string): void {
  const document = Buffer.from(JSON.stringify(asyncApiDocument(version)));
  const answer = new SharedAnswer(document, { 'Content-Type': JSON_MEDIA_TYPE });
  app.openapi(getDocument, (c) => answer.to(c));
}
