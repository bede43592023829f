import { extname } from 'node:path';
import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import type { BuiltFiles } from '../built-files.js';
import { NO_SECURITY, notModified, preparedJson, problems } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import { JSON_MEDIA_TYPE } from '../json-body.js';
import { SharedAnswer } from '../shared-answer.js';

/** The files for browsers, open to everybody: the pages have no data of their own, and ask for a token. */
export interface PagesOptions {
  readonly files: BuiltFiles;
  /** Where recordings are, besides the page's own origin. */
  readonly footageOrigins: readonly string[];
}

/** What the routes here have in common. */
interface OpenRoute {
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
}

/** Forbids frames: another page could frame this one and trick a user into acknowledging alarms. */
const IN_NO_FRAME = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/** Limits the descriptions to the gateway's own files and answers, whatever a document or a script says. */
const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  ...IN_NO_FRAME,
].join('; ');

/** Only recordings may have another origin: the bucket's, or the gateway's own behind a proxy. */
function consolePolicy(footageOrigins: readonly string[]): string {
  return [
    "default-src 'self'",
    ...(footageOrigins.length === 0 ? [] : [`media-src 'self' ${footageOrigins.join(' ')}`]),
    "object-src 'none'",
    ...IN_NO_FRAME,
  ].join('; ');
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Names carry a digest of the content, so a browser never has to ask again. */
const KEPT_FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' };

const common = { method: 'get' as const, tags: ['Operation'], security: NO_SECURITY };
const text = z.string();
/** Typed so that the handlers may answer with bytes. */
type Content = Record<string, { readonly schema: z.ZodString }>;
const pageContent: Content = {
  'text/html': { schema: text.openapi({ example: '<!doctype html>\n<html lang="en">…</html>' }) },
};
const fileContent: Content = {
  'text/javascript': { schema: text.openapi({ example: 'const start = 1;' }) },
  'text/css': { schema: text.openapi({ example: 'body { margin: 0; }' }) },
};
const pictureContent: Content = {
  'image/svg+xml': { schema: text.openapi({ example: '<svg/>' }) },
};

/** The console at `/`, and the descriptions under `/docs` (docs/reference/contract.md, 2). */
export function registerPages(app: HttpApp, { files, footageOrigins }: PagesOptions): void {
  registerPage(
    app,
    {
      path: '/docs',
      operationId: 'getDocs',
      summary: 'This document as a page, which needs no other host',
    },
    DOCS_POLICY,
    () => files.read('docs/http.html'),
  );
  registerPage(
    app,
    { path: '/docs/mqtt', operationId: 'getMqttDocs', summary: 'The MQTT side as a page' },
    DOCS_POLICY,
    () => files.readFilled('docs/mqtt.html'),
  );
  registerFiles(
    app,
    {
      path: '/docs/{file}',
      operationId: 'getDocsFile',
      summary: 'A script or style sheet of these pages',
    },
    files,
    fileContent,
  );
  registerPage(
    app,
    {
      path: '/',
      operationId: 'getConsole',
      summary: 'The console: what happens in the home, in a browser',
    },
    consolePolicy(footageOrigins),
    () => files.read('index.html'),
  );
  registerFiles(
    app,
    {
      path: '/console/{file}',
      operationId: 'getConsoleFile',
      summary: 'A script, style sheet or picture of the console',
    },
    files,
    { ...fileContent, ...pictureContent },
    KEPT_FOR_EVER,
  );
}

/** `/openapi.json` and `/asyncapi.json`, open to everybody. */
export function registerDocuments(app: HttpApp, { files }: PagesOptions): void {
  registerDocument(
    app,
    { path: '/openapi.json', operationId: 'getOpenApiDocument', summary: 'This document' },
    { openapi: '3.1.0' },
    files,
  );
  registerDocument(
    app,
    {
      path: '/asyncapi.json',
      operationId: 'getAsyncApiDocument',
      summary: 'The MQTT side, described',
    },
    { asyncapi: '3.0.0' },
    files,
  );
}

function registerPage(app: HttpApp, route: OpenRoute, policy: string, read: () => Buffer): void {
  const responses = { 200: { description: 'The page.', content: pageContent }, ...notModified };
  const answer = new SharedAnswer(read, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
  });
  app.openapi(createRoute({ ...common, ...route, responses }), (c) => answer.to(c));
}

/** Serves the scripts, style sheets and pictures of the folder that the path begins with. */
function registerFiles(
  app: HttpApp,
  route: OpenRoute,
  files: BuiltFiles,
  content: Content,
  headers: Readonly<Record<string, string>> = {},
): void {
  const answers = new Map<string, SharedAnswer>();
  const answerFor = (name: string): SharedAnswer | undefined => {
    const type = CONTENT_TYPES[extname(name)];
    if (type === undefined || !files.has(name)) return undefined;
    const known = answers.get(name);
    if (known !== undefined) return known;
    const answer = new SharedAnswer(() => files.read(name), { 'Content-Type': type, ...headers });
    answers.set(name, answer);
    return answer;
  };
  const described = createRoute({
    ...common,
    ...route,
    request: { params: z.object({ file: z.string() }) },
    responses: {
      200: { description: 'The file.', content },
      ...notModified,
      ...problems.missing,
    },
  });
  app.openapi(described, (c) => {
    const answer = answerFor(route.path.slice(1).replace('{file}', c.req.valid('param').file));
    if (answer === undefined) throw new GatewayError('not-found', 'There is nothing at this path.');
    return answer.to(c);
  });
}

function registerDocument(
  app: HttpApp,
  route: OpenRoute,
  example: object,
  files: BuiltFiles,
): void {
  const schema = z.looseObject({}).openapi({ example });
  const responses = { 200: preparedJson('The document.', schema), ...notModified };
  const answer = new SharedAnswer(() => files.readFilled(route.path.slice(1)), {
    'Content-Type': JSON_MEDIA_TYPE,
  });
  app.openapi(createRoute({ ...common, ...route, responses }), (c) => answer.to(c));
}
