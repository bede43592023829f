import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import { DocsPage } from '../docs-page.js';
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

const getFile = createRoute({
  method: 'get',
  path: '/docs/{file}',
  operationId: 'getDocsFile',
  summary: 'A script or style sheet of that page',
  tags,
  security: NO_SECURITY,
  request: { params: z.object({ file: z.string() }) },
  responses: {
    200: { description: 'The file.', content: scriptOrStyle },
    404: problems.resource[404],
  },
});

/** `/docs`, open to everybody (CONTRACT 2). */
export function registerDocs(app: HttpApp): void {
  const page = new DocsPage();

  app.openapi(getPage, (c) => page.page.to(c));

  app.openapi(getFile, (c) => {
    const file = page.file(c.req.valid('param').file);
    if (file === undefined) throw new GatewayError('not-found', 'There is nothing at this path.');
    return file.to(c);
  });
}
