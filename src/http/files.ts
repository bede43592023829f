/**
 * The files that the build made for browsers and programs: the console, the pages about the interface, its descriptions.
 *
 * All are read at the start, plain and compressed, so they are still served while an update replaces them. They go out
 * piece by piece, as fast as a client takes them: a client that reads nothing costs one piece.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { accepts } from 'hono/accepts';
import { z } from 'zod';
import { GatewayError } from '../errors.js';
import { isKnown } from './conditional.js';
import type { HttpApp, HttpContext } from './frame.js';
import { refuseOtherMethods } from './route.js';

const PIECE_BYTES = 64 * 1024;
const COMPRESSED = '.gz';
const NEEDED = ['index.html', 'openapi.json', 'asyncapi.json', 'docs.html'];

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

/** Names of the console carry a digest of the content, so a browser never has to ask again. */
const KEPT_FOR_EVER = 'public, max-age=31536000, immutable';

/** Forbids frames: another page could frame this one, and trick a user into acknowledging alarms. */
const IN_NO_FRAME = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/** Limits the pages about the interface to the gateway's own files and answers. */
const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  ...IN_NO_FRAME,
].join('; ');

/** Recordings may have another origin: that of the bucket, or the gateway's own behind a proxy. */
function consolePolicy(footageOrigins: readonly string[]): string {
  return [
    "default-src 'self'",
    ...(footageOrigins.length === 0 ? [] : [`media-src 'self' ${footageOrigins.join(' ')}`]),
    "object-src 'none'",
    ...IN_NO_FRAME,
  ].join('; ');
}

interface BuiltFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Undefined if it is not worth it. */
  readonly compressed: Buffer | undefined;
  /** Weak: the same content, compressed or not. */
  readonly tag: string;
}

/** The files by their names, such as `console/main-1a2b.js`. */
export class BuiltFiles {
  readonly #files = new Map<string, BuiltFile>();

  /**
   * @param ports of this gateway, by the names of the servers in `asyncapi.json`
   * @param hasAuthority whether `/ca.pem` has something
   * @throws GatewayError `start-failed` when files are missing
   */
  constructor(directory: string, ports: Readonly<Record<string, number>>, hasAuthority = false) {
    try {
      for (const name of readdirSync(directory, { recursive: true }).map(String)) {
        const type = CONTENT_TYPES[extname(name)];
        if (type !== undefined) this.#files.set(name, read(directory, name, type));
      }
      const described = asyncApi.parse(JSON.parse(textIn(directory, 'asyncapi.json')));
      this.#fill('asyncapi.json', JSON.stringify(withPorts(described, ports)));
      const ca = hasAuthority ? 'ca.pem' : '';
      const values = { version: described.info.version, ca, ...ports };
      this.#fill('index.html', withValues(textIn(directory, 'index.html'), values));
    } catch {
      // The directory is missing, or half of a build: the remedy is the same.
    }
    if (NEEDED.every((name) => this.#files.has(name))) return;
    const detail = `the console in ${directory} cannot be read: npm ci && npm run build`;
    throw new GatewayError('start-failed', detail);
  }

  /** Replaces a file by its text with what only this gateway knows. */
  #fill(name: string, text: string): void {
    const bytes = Buffer.from(text);
    this.#files.set(name, built(CONTENT_TYPES[extname(name)] ?? '', bytes, gzipSync(bytes)));
  }

  /**
   * Answers with a file.
   *
   * @throws GatewayError `not-found`
   */
  answer(c: HttpContext, name: string, headers: Readonly<Record<string, string>> = {}): Response {
    const file = this.#files.get(name);
    if (file === undefined) throw new GatewayError('not-found', 'There is nothing at this path.');
    const { type, bytes, compressed, tag } = file;
    c.header('Vary', 'Accept-Encoding', { append: true });
    for (const [field, value] of Object.entries({ 'Cache-Control': 'no-cache', ...headers })) {
      c.header(field, value);
    }
    c.header('Content-Type', type);
    c.header('ETag', tag);
    if (isKnown(c, tag)) return c.body(null, 304);
    const supports = ['identity', ...(compressed === undefined ? [] : ['gzip'])];
    const coding = accepts(c, { header: 'Accept-Encoding', supports, default: 'identity' });
    const sent = coding === 'gzip' && compressed !== undefined ? compressed : bytes;
    if (sent === compressed) c.header('Content-Encoding', 'gzip');
    c.header('Content-Length', String(sent.length));
    return c.body(pieces(sent), 200);
  }
}

function read(directory: string, name: string, type: string): BuiltFile {
  const bytes = readFileSync(join(directory, name));
  return built(type, bytes, readIfThere(join(directory, name + COMPRESSED)));
}

function built(type: string, bytes: Buffer, compressed: Buffer | undefined): BuiltFile {
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return { type, bytes, compressed, tag: `W/"${digest}"` };
}

function textIn(directory: string, name: string): string {
  return readFileSync(join(directory, name), 'utf8');
}

/** The description with the ports of this gateway, which the build cannot know. */
function withPorts(document: AsyncApi, ports: Readonly<Record<string, number>>): AsyncApi {
  for (const [name, { variables }] of Object.entries(document.servers)) {
    const port = ports[name];
    if (port !== undefined) variables.port.default = String(port);
  }
  return document;
}

/** The page with values in place of `%name%`: the console shows version and ports without another request. */
function withValues(page: string, values: Readonly<Record<string, string | number>>): string {
  return page.replace(/%(\w+)%/g, (_, name: string) => String(values[name] ?? ''));
}

const asyncApi = z.looseObject({
  info: z.looseObject({ version: z.string() }),
  servers: z.record(
    z.string(),
    z.looseObject({ variables: z.looseObject({ port: z.looseObject({ default: z.string() }) }) }),
  ),
});
type AsyncApi = z.infer<typeof asyncApi>;

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function pieces(bytes: Buffer): ReadableStream<Uint8Array> {
  let position = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.enqueue(bytes.subarray(position, position + PIECE_BYTES));
        position += PIECE_BYTES;
        if (position >= bytes.length) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Serves the pages, open to everybody: they have no data of their own, and ask for a token. A link to one may have any
 * query.
 */
export function mountPages(
  app: HttpApp,
  files: BuiltFiles,
  footageOrigins: readonly string[],
): void {
  const page = (policy: string) => ({
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
  });
  const serve = (path: string, answer: (c: HttpContext) => Response) => {
    app.get(path, (c) => {
      c.set('route', path);
      return answer(c);
    });
    refuseOtherMethods(app, path, ['get']);
  };
  const consolePage = page(consolePolicy(footageOrigins));
  const forEver = { 'Cache-Control': KEPT_FOR_EVER };
  serve('/', (c) => files.answer(c, 'index.html', consolePage));
  serve('/docs', (c) => files.answer(c, 'docs.html', page(DOCS_POLICY)));
  serve('/docs/:file', (c) => files.answer(c, `docs/${c.req.param('file')}`));
  serve('/console/:file', (c) => files.answer(c, `console/${c.req.param('file')}`, forEver));
}
