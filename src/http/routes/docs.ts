import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import { DocsPages } from '../docs-pages.js';
import type { HttpApp } from '../http-env.js';
import { NO_SECURITY, problems } from '../openapi.js';

const text = { schema: z.string() };
const tags = ['Operation'];

/** Typed so that the handlers may answer with the bytes of a file. */
type Content = Record<string, typeof text>;
const html: Content = { 'text/html': text };
const scriptOrStyle: Content = { 'text/javascript': text, 'text/css': text };

const getPage = createRoute({
  method: 'get',
  path: '/docs',
  operationId: 'getDocs',
  summary: 'This document as a page, which needs no other host',
  tags,
  security: NO_SECURITY,
  responses: { 200: { description: 'The page.', content: html } },
});

const getMqttPage = createRoute({
  method: 'get',
  path: '/docs/mqtt',
  operationId: 'getMqttDocs',
  summary: 'The MQTT side as a page',
  tags,
  security: NO_SECURITY,
  responses: { 200: { description: 'The page.', content: html } },
});

const getStart = createRoute({
  method: 'get',
  path: '/',
  operationId: 'getStartPage',
  summary: 'A page that says where everything is',
  tags,
  security: NO_SECURITY,
  responses: { 200: { description: 'The page.', content: html } },
});

const getFile = createRoute({
  method: 'get',
  path: '/docs/{file}',
  operationId: 'getDocsFile',
  summary: 'A script or style sheet of these pages',
  tags,
  security: NO_SECURITY,
  request: { params: z.object({ file: z.string() }) },
  responses: {
    200: { description: 'The file.', content: scriptOrStyle },
    404: problems.resource[404],
  },
});

/** `/` and `/docs`, open to everybody (CONTRACT 2). */
export function registerDocs(app: HttpApp, version: string): void {
  const pages = new DocsPages(version);

  app.openapi(getPage, (c) => pages.http.to(c));

  app.openapi(getStart, (c) => pages.start.to(c));

  app.openapi(getMqttPage, (c) => pages.mqtt.to(c));

  app.openapi(getFile, (c) => {
    const file = pages.file(c.req.valid('param').file);
    if (file === undefined) throw new GatewayError('not-found', 'There is nothing at this path.');
    return file.to(c);
  });
}
