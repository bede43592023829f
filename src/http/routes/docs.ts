import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRoute, z } from '@hono/zod-openapi';
import { html } from 'hono/html';
import { GatewayError } from '../../errors.js';
import type { HttpDependencies } from '../dependencies.js';
import { asyncApiDocument } from '../documents/asyncapi-document.js';
import { NO_SECURITY, notModified, preparedJson, problems } from '../documents/openapi.js';
import { openApiDocument } from '../documents/openapi-document.js';
import { mqttPage, PLAIN_STYLE, plainPage } from '../documents/plain-pages.js';
import type { HttpApp } from '../http-env.js';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import { SharedAnswer } from '../shared-answer.js';
import { readBuilt } from './console.js';

/** Typed so that the handlers may answer with bytes. */
type Content = Record<string, { readonly schema: z.ZodString }>;

/** What the routes here have in common. */
interface OpenRoute {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
}

/** The script that starts the page. A `validatorUrl` would send the document's address to another host. */
const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#interface',
  deepLinking: true,
  validatorUrl: null,
});
`;

/**
 * Limits what a page may load: the gateway's own files and answers, and pictures within the style
 * sheet. Other hosts are out of reach, whatever the document or the scripts say.
 */
const SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Files of Swagger UI. */
const SHIPPED = ['swagger-ui.css', 'swagger-ui-bundle.js'];

const tags = ['Operation'];
const common = { method: 'get' as const, tags, security: NO_SECURITY };
const page = {
  schema: z.string().openapi({ example: '<!doctype html>\n<html lang="en">…</html>' }),
};
const script = { schema: z.string().openapi({ example: START }) };
const style = { schema: z.string().openapi({ example: PLAIN_STYLE }) };
const pageContent: Content = { 'text/html': page };
const fileContent: Content = { 'text/javascript': script, 'text/css': style };

/** What the documents say of this gateway. */
type DocumentedGateway = Pick<HttpDependencies, 'version' | 'publicUrl' | 'ports' | 'console'>;

const getFile = createRoute({
  ...common,
  path: '/docs/{file}',
  operationId: 'getDocsFile',
  summary: 'A script or style sheet of these pages',
  request: { params: z.object({ file: z.string() }) },
  responses: {
    200: { description: 'The file.', content: fileContent },
    ...notModified,
    404: problems.resource[404],
  },
});

/**
 * `/docs`, open to everybody (docs/reference/contract.md, 2): for HTTP Swagger UI, whose files are beside the console's.
 *
 * @throws GatewayError `start-failed` when a file is not there
 */
export function registerDocs(
  app: HttpApp,
  { version, ports, console: { directory } }: DocumentedGateway,
): void {
  const shipped = SHIPPED.map((name) => [name, join(directory, 'docs', name)] as const);
  readBuilt(directory, () => {
    for (const [, path] of shipped) accessSync(path, constants.R_OK);
  });
  const files = new Map([
    ...shipped.map(([name, path]) => [name, fileAnswer(name, () => readFileSync(path))] as const),
    ['start.js', fileAnswer('start.js', () => Buffer.from(START))],
    ['plain.css', fileAnswer('plain.css', () => Buffer.from(PLAIN_STYLE))],
  ]);
  registerPage(
    app,
    {
      path: '/docs',
      operationId: 'getDocs',
      summary: 'This document as a page, which needs no other host',
    },
    httpPage,
  );
  registerPage(
    app,
    { path: '/docs/mqtt', operationId: 'getMqttDocs', summary: 'The MQTT side as a page' },
    () => mqttPage(asyncApiDocument(version, ports), 'plain.css'),
  );
  app.openapi(getFile, (c) => {
    const file = files.get(c.req.valid('param').file);
    if (file === undefined) throw new GatewayError('not-found', 'There is nothing at this path.');
    return file.to(c);
  });
}

/** `/openapi.json` and `/asyncapi.json`, open to everybody. */
export function registerDocuments(
  app: HttpApp,
  { version, publicUrl, ports }: DocumentedGateway,
): void {
  registerDocument(
    app,
    { path: '/openapi.json', operationId: 'getOpenApiDocument', summary: 'This document' },
    { openapi: '3.1.0' },
    () => openApiDocument(app, version, publicUrl),
  );
  registerDocument(
    app,
    {
      path: '/asyncapi.json',
      operationId: 'getAsyncApiDocument',
      summary: 'The MQTT side, described',
    },
    { asyncapi: '3.0.0' },
    () => asyncApiDocument(version, ports),
  );
}

function registerPage(app: HttpApp, route: OpenRoute, render: () => string): void {
  const responses = { 200: { description: 'The page.', content: pageContent }, ...notModified };
  const answer = new SharedAnswer(() => Buffer.from(render()), {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': SECURITY_POLICY,
    'Referrer-Policy': 'no-referrer',
  });
  app.openapi(createRoute({ ...common, ...route, responses }), (c) => answer.to(c));
}

/**
 * Rendered once, when all routes are registered: a document is open to everybody, and takes a thousand times as
 * long to render as to send.
 */
function registerDocument(
  app: HttpApp,
  route: OpenRoute,
  example: object,
  render: () => object,
): void {
  const schema = z.looseObject({}).openapi({ example });
  const responses = { 200: preparedJson('The document.', schema), ...notModified };
  const answer = new SharedAnswer(() => Buffer.from(JSON.stringify(render())), {
    'Content-Type': JSON_MEDIA_TYPE,
  });
  app.openapi(createRoute({ ...common, ...route, responses }), (c) => answer.to(c));
}

function fileAnswer(name: string, read: () => Buffer): SharedAnswer {
  const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
  return new SharedAnswer(read, { 'Content-Type': `${type}; charset=utf-8` });
}

function httpPage(): string {
  const scripts = ['swagger-ui-bundle.js', 'start.js'].map(
    (name) => html`<script src="docs/${name}" defer></script>\n`,
  );
  return plainPage(
    'Care-home gateway: the HTTP interface',
    'docs/swagger-ui.css',
    html`${scripts}<div id="interface"></div>
<noscript>This page needs JavaScript; the interface is described in <a href="openapi.json">openapi.json</a>.</noscript>`,
  );
}
