import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import { NO_SECURITY, notModified, problems } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import { SharedAnswer } from '../shared-answer.js';

/**
 * Everything comes from the gateway itself; a page in a frame could be made to acknowledge alarms.
 *
 * Recordings alone may have another origin: that of the bucket, or the gateway's own behind a proxy.
 */
function securityPolicy(footageOrigins: readonly string[]): string {
  return [
    "default-src 'self'",
    ...(footageOrigins.length === 0 ? [] : [`media-src 'self' ${footageOrigins.join(' ')}`]),
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const tags = ['Operation'];
const common = { method: 'get' as const, tags, security: NO_SECURITY };
const text = z.string();

const getPage = createRoute({
  ...common,
  path: '/',
  operationId: 'getConsole',
  summary: 'The console: what happens in the home, in a browser',
  responses: {
    200: {
      description: 'The page.',
      content: {
        'text/html': {
          schema: text.openapi({ example: '<!doctype html>\n<html lang="en">…</html>' }),
        },
      },
    },
    ...notModified,
  },
});

const getFile = createRoute({
  ...common,
  path: '/console/{file}',
  operationId: 'getConsoleFile',
  summary: 'A script, style sheet or picture of the console',
  request: { params: z.object({ file: z.string() }) },
  responses: {
    200: {
      description: 'The file.',
      content: {
        'text/javascript': { schema: text.openapi({ example: 'const start = 1;' }) },
        'text/css': { schema: text.openapi({ example: 'body { margin: 0; }' }) },
        'image/svg+xml': { schema: text.openapi({ example: '<svg/>' }) },
      },
    },
    ...notModified,
    404: problems.resource[404],
  },
});

export interface ConsoleOptions {
  /** What `npm run build` makes of src/console: the page, and its files under `console/`. */
  readonly directory: string;
  /** Where recordings are, besides the page's own origin. */
  readonly footageOrigins: readonly string[];
}

/**
 * The console at `/`, open to everybody: it has no data of its own, and asks for a token.
 *
 * @throws GatewayError `start-failed` when it is not there
 */
export function registerConsole(app: HttpApp, { directory, footageOrigins }: ConsoleOptions): void {
  const { page, files } = readConsole(directory);
  const answer = new SharedAnswer(() => page, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': securityPolicy(footageOrigins),
    'Referrer-Policy': 'no-referrer',
  });
  const answers = new Map([...files].map(([name, bytes]) => [name, fileAnswer(name, bytes)]));
  app.openapi(getPage, (c) => answer.to(c));
  app.openapi(getFile, (c) => {
    const file = answers.get(c.req.valid('param').file);
    if (file === undefined) throw new GatewayError('not-found', 'There is nothing at this path.');
    return file.to(c);
  });
}

/**
 * Reads what `npm run build` has put into a directory for browsers.
 *
 * @throws GatewayError `start-failed` when it is not there
 */
export function readBuilt<Pages>(directory: string, read: () => Pages): Pages {
  try {
    return read();
  } catch (cause) {
    const detail = `the console in ${directory} cannot be read: npm ci && npm run build`;
    throw new GatewayError('start-failed', detail, { cause });
  }
}

function readConsole(directory: string) {
  const read = (path: string) => readFileSync(join(directory, path));
  return readBuilt(directory, () => {
    const names = readdirSync(join(directory, 'console'));
    const files = new Map(names.map((name) => [name, read(`console/${name}`)]));
    return { page: read('index.html'), files };
  });
}

/** Names carry a digest of the content: a browser need never ask again. */
function fileAnswer(name: string, bytes: Buffer): SharedAnswer {
  return new SharedAnswer(() => bytes, {
    'Content-Type': CONTENT_TYPES[extname(name)] ?? 'application/octet-stream',
    'Cache-Control': 'public, max-age=31536000, immutable',
  });
}
