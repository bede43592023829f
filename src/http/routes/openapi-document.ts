import { createRoute, z } from '@hono/zod-openapi';
import type { HttpApp } from '../http-env.js';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import { NO_SECURITY, preparedJson } from '../openapi.js';
import { openApiDocument } from '../openapi-document.js';
import { SharedAnswer } from '../shared-answer.js';

const getDocument = createRoute({
  method: 'get',
  path: '/openapi.json',
  operationId: 'getOpenApiDocument',
  summary: 'This document',
  tags: ['Operation'],
  security: NO_SECURITY,
  responses: {
    200: preparedJson(
      'The OpenAPI document.',
      z.looseObject({}).openapi({ example: { openapi: '3.1.0' } }),
    ),
  },
});

/** `/openapi.json`, open to everybody. */
export function registerOpenApiDocument(
  app: HttpApp,
  version: string,
  serverUrl: string | undefined,
): void {
  // Rendered once, at the first request, when all routes are registered: the document is open to
  // everybody, and takes a thousand times as long to render as to send.
  let answer: SharedAnswer | undefined;
  app.openapi(getDocument, (c) => {
    answer ??= new SharedAnswer(
      Buffer.from(JSON.stringify(openApiDocument(app, version, serverUrl))),
      { 'Content-Type': JSON_MEDIA_TYPE },
    );
    return answer.to(c);
  });
}
