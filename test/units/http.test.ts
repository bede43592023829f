/**
 * Parts of the HTTP side that no client can bring about or see: a fault of the program, an altered cursor of any kind,
 * files that are sent without copies, and a build without its files.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { OpenAPIHono } from '@hono/zod-openapi';
import fc from 'fast-check';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { BuiltFiles } from '../../src/http/built-files.js';
import type { HttpDependencies } from '../../src/http/dependencies.js';
import type { HttpEnv } from '../../src/http/http-env.js';
import { type CursorScope, PageCursors } from '../../src/http/page-cursor.js';
import { errorResponder, requestContext } from '../../src/http/request-context.js';
import { registerPages } from '../../src/http/routes/pages.js';
import { SharedAnswer } from '../../src/http/shared-answer.js';

it('hides the message of an unexpected failure, and logs it under the request id', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });
  const nothing = () => undefined;
  const parts = z.custom<HttpDependencies>().parse({
    log,
    elapsed: () => 0,
    requestDurations: { observe: nothing },
    denials: { denied: nothing },
  });
  const app = new OpenAPIHono<HttpEnv>();
  app.onError(errorResponder(log, parts.denials));
  app.use(requestContext(parts));
  app.get('/', () => {
    throw new Error('hunter2');
  });
  const incoming = { socket: { remoteAddress: '127.0.0.1' } };
  const answer = await app.request('/', {}, { incoming });
  const problem = JSON.parse(await answer.text());
  expect([answer.status, problem.code]).toEqual([500, 'internal-error']);
  expect(JSON.stringify(problem)).not.toMatch(/hunter2|Error:|\.ts/);
  expect(lines.find((line) => line.includes('hunter2'))).toContain(problem.requestId);
});

const cursors = new PageCursors(Buffer.from('key'));
const SCOPE: CursorScope = {
  locationId: 'l',
  deviceId: undefined,
  kinds: ['fall'],
  beforeMs: undefined,
  afterMs: undefined,
  order: 'desc',
};
const SENT = { timeMs: 1, sequence: 2, upToSequence: 3 };
const cursor = fc.record({
  timeMs: fc.maxSafeInteger(),
  sequence: fc.maxSafeNat(),
  upToSequence: fc.maxSafeNat(),
});

it('decodes a cursor to what was encoded, and none with a changed character', () => {
  fc.assert(
    fc.property(cursor, fc.nat(), fc.base64String(), (sent, at, other) => {
      const text = cursors.encode(sent, SCOPE);
      expect(cursors.decode(text, SCOPE)).toEqual(sent);
      const index = at % text.length;
      const changed = text.slice(0, index) + (other[0] ?? '') + text.slice(index + 1);
      if (changed === text) return;
      expect(() => cursors.decode(changed, SCOPE)).toThrow('invalid-cursor');
    }),
  );
});

it.each<[what: string, encoded: Partial<CursorScope>, asked: Partial<CursorScope>, key?: string]>([
  ['with another key', {}, {}, 'another key'],
  ['for the other time bound', { beforeMs: 5 }, { afterMs: 5 }],
  ['for a device with the id of the location', {}, { deviceId: 'l' }],
  ['for the other order', {}, { order: 'asc' }],
  ['for other kinds', {}, { kinds: ['noise'] }],
])('refuses a cursor %s', (_what, encoded, asked, key = 'key') => {
  const text = new PageCursors(Buffer.from(key)).encode(SENT, { ...SCOPE, ...encoded });
  expect(() => cursors.decode(text, { ...SCOPE, ...asked })).toThrow('invalid-cursor');
});

const KIB = 1024;

async function answered(bytes: Uint8Array, accepted?: string) {
  const answer = new SharedAnswer(() => bytes, { 'Content-Type': 'x/y' });
  const app = new OpenAPIHono<HttpEnv>();
  app.get('/', (c) => answer.to(c));
  const headers = accepted === undefined ? {} : { 'Accept-Encoding': accepted };
  return { app, response: await app.request('/', { headers }) };
}

it.each([0, 1, 64 * KIB, 64 * KIB + 1, 200 * KIB])(
  'sends %i bytes of a file in pieces, without copies',
  async (length) => {
    const bytes = Buffer.alloc(length, 'x');
    const { response } = await answered(bytes);
    expect(response.headers.get('Content-Length')).toBe(String(length));
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body ?? []) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    for (const piece of pieces) {
      expect([piece.buffer === bytes.buffer, piece.length <= 64 * KIB]).toEqual([true, true]);
    }
  },
);

it.each([
  [undefined, null],
  ['gzip', 'gzip'],
  ['br, deflate, GZIP;q=0.5', 'gzip'],
  ['gzip;q=0', null],
  ['gzip;q=0.1, identity', null],
  ['br', null],
  ['*;q=0', null],
])('a client that accepts %s gets a file as %s', async (accepted, coding) => {
  const bytes = Buffer.alloc(100 * KIB, 'openapi');
  const { app, response } = await answered(bytes, accepted);
  expect(response.headers.get('Content-Encoding')).toBe(coding);
  expect(response.headers.get('Vary')).toBe('Accept-Encoding');
  const body = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get('Content-Length')).toBe(String(body.length));
  expect((coding === null ? body : gunzipSync(body)).equals(bytes)).toBe(true);
  // Compressed once for all clients.
  const bufferOf = async () => {
    const headers = { 'Accept-Encoding': 'gzip' };
    const { body } = await app.request('/', { headers });
    return (await body?.getReader().read())?.value?.buffer;
  };
  expect(await bufferOf()).toBe(await bufferOf());
});

const OF_NO_GATEWAY = {
  VERSION: '',
  SERVER_URL: '',
  MQTT_PORT: '',
  MQTTS_PORT: '',
  HTTP_PORT: '',
  HTTPS_PORT: '',
};

it('plays recordings from their origin, and loads nothing else from there', async () => {
  const app = new OpenAPIHono<HttpEnv>();
  const files = new BuiltFiles('dist/console', OF_NO_GATEWAY);
  registerPages(app, { files, footageOrigins: ['https://recordings.example.org'] });
  const policy = (await app.request('/')).headers.get('Content-Security-Policy')?.split('; ');
  expect(policy?.filter((one) => one.includes('example.org'))).toEqual([
    "media-src 'self' https://recordings.example.org",
  ]);
});

it('stops the start of a gateway that was not built, and says what to do', () => {
  const directory = mkdtempSync(join(tmpdir(), 'no-console-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  expect(() => new BuiltFiles(directory, OF_NO_GATEWAY)).toThrow(
    `start-failed: the console in ${directory} cannot be read: npm ci && npm run build`,
  );
});
