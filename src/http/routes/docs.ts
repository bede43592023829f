import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRoute, z } from '@hono/zod-openapi';
import { html } from 'hono/html';
import { GatewayError } from '../../errors.js';
import { asyncApiDocument } from '../asyncapi-document.js';
import { readBuilt } from '../built-pages.js';
import type { HttpApp } from '../http-env.js';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import { NO_SECURITY, preparedJson, problems } from '../openapi.js';
import { openApiDocument } from '../openapi-document.js';
import { mqttPage, PLAIN_STYLE, plainPage } from '../plain-pages.js';
import { SharedAnswer } from '../shared-answer.js';

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

/** Files of Swagger UI, and our own. */
const SHIPPED = ['swagger-ui.css', 'swagger-ui-bundle.js'];
const OWN = { 'start.js': START, 'plain.css': PLAIN_STYLE };

const tags = ['Operation'];
const common = { method: 'get' as const, tags, security: NO_SECURITY };
const page = {
  schema: z.string().openapi({ example: '<!doctype html>\n<html lang="en">…</html>' }),
};
const script = { schema: z.string().openapi({ example: START }) };
const style = { schema: z.string().openapi({ example: PLAIN_STYLE }) };
const pageContent: Content = { 'text/html': page };
const fileContent: Content = { 'text/javascript': script, 'text/css': style };

const getFile = createRoute({
  ...common,
  path: '/docs/{file}',
  operationId: 'getDocsFile',
  summary: 'A script or style sheet of these pages',
  request: { params: z.object({ file: z.string() }) },
  responses: {
    200: { description: 'The file.', content: fileContent },
    404: problems.resource[404],
  },
});

/**
 * `/docs`, open to everybody (CONTRACT 2): for HTTP Swagger UI, whose files are beside the console's.
 *
 * Files are read and pages rendered at their first request, as a start need not wait for either.
 *
 * @throws GatewayError `start-failed` when a file is not there
 */
export function registerDocs(app: HttpApp, version: string, directory: string): void {
  const shipped = SHIPPED.map((name) => [name, join(directory, 'docs', name)] as const);
  readBuilt(directory, () => {
    for (const [, path] of shipped) accessSync(path, constants.R_OK);
  });
  const files = new Map([
    ...shipped.map(([name, path]) => [name, new DocsFile(name, () => readFileSync(path))] as const),
    ...Object.entries(OWN).map(
      ([name, text]) => [name, new DocsFile(name, () => Buffer.from(text))] as const,
    ),
  ]);
  const urlOf = (name: string) => `${name}?${files.get(name)?.digest}`;

  registerPage(
    app,
    {
      path: '/docs',
      operationId: 'getDocs',
      summary: 'This document as a page, which needs no other host',
    },
    () => httpPage((name) => `docs/${urlOf(name)}`),
  );
  registerPage(
    app,
    { path: '/docs/mqtt', operationId: 'getMqttDocs', summary: 'The MQTT side as a page' },
    () => mqttPage(asyncApiDocument(version), urlOf('plain.css')),
  );
  app.openapi(getFile, (c) => {
    const file = files.get(c.req.valid('param').file);
    if (file === undefined) throw new GatewayError('not-found', 'There is nothing at this path.');
    return file.answer.to(c);
  });
}

/** `/openapi.json` and `/asyncapi.json`, open to everybody. */
export function registerDocuments(app: HttpApp, version: string, publicUrl?: string): void {
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
    () => asyncApiDocument(version),
  );
}

function registerPage(app: HttpApp, route: OpenRoute, render: () => string): void {
  const responses = { 200: { description: 'The page.', content: pageContent } };
  let answer: SharedAnswer | undefined;
  app.openapi(createRoute({ ...common, ...route, responses }), (c) => {
    answer ??= new SharedAnswer(Buffer.from(render()), {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': SECURITY_POLICY,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-cache',
    });
    return answer.to(c);
  });
}

/**
 * Rendered once, at the first request, when all routes are registered: a document is open to everybody, and
 * takes a thousand times as long to render as to send.
 */
function registerDocument(
  app: HttpApp,
  route: OpenRoute,
  example: object,
  render: () => object,
): void {
  const schema = z.looseObject({}).openapi({ example });
  const responses = { 200: preparedJson('The document.', schema) };
  let answer: SharedAnswer | undefined;
  app.openapi(createRoute({ ...common, ...route, responses }), (c) => {
    answer ??= new SharedAnswer(Buffer.from(JSON.stringify(render())), {
      'Content-Type': JSON_MEDIA_TYPE,
    });
    return answer.to(c);
  });
}

/** A script or style sheet, read once somebody asks for it or for its digest. */
class DocsFile {
  readonly #type: string;
  readonly #read: () => Buffer;
  #content: { readonly answer: SharedAnswer; readonly digest: string } | undefined;

  constructor(name: string, read: () => Buffer) {
    this.#type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
    this.#read = read;
  }

  get answer(): SharedAnswer {
    return this.#load().answer;
  }

  /** Part of the file's URL: browsers may cache the file for ever, and get a new one. */
  get digest(): string {
    return this.#load().digest;
  }

  #load() {
    if (this.#content !== undefined) return this.#content;
    const bytes = this.#read();
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    const answer = new SharedAnswer(bytes, {
      'Content-Type': `${this.#type}; charset=utf-8`,
      'Cache-Control': 'public, max-age=31536000, immutable',
    });
    this.#content = { answer, digest };
    return this.#content;
  }
}

function httpPage(urlOf: (name: string) => string): string {
  const scripts = ['swagger-ui-bundle.js', 'start.js'].map(
    (name) => html`<script src="${urlOf(name)}" defer></script>\n`,
  );
  return plainPage(
    'Care-home gateway: the HTTP interface',
    urlOf('swagger-ui.css'),
    html`${scripts}<div id="interface"></div>
<noscript>This page needs JavaScript; the interface is described in <a href="openapi.json">openapi.json</a>.</noscript>`,
  );
}
