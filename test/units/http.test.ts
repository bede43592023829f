/**
 * Parts of the HTTP side that no client can bring about or see: a fault of the program, an altered cursor of any kind,
 * files that are sent without copies, and a build without its files.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Hono } from 'hono';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type CursorScope, PageCursors } from '../../src/http/cursors.js';
import { BuiltFiles, mountPages } from '../../src/http/files.js';
import { frame, type HttpEnv } from '../../src/http/frame.js';
import type { HttpServices } from '../../src/http/services.js';

it('hides the message of an unexpected failure, and logs it under the request id', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });
  const services = z.custom<HttpServices>().parse({
    log,
    elapsed: () => 0,
    requestDurations: { observe: () => undefined },
    allowedOrigins: [],
  });
  const app = new Hono<HttpEnv>();
  frame(app, services);
  app.get('/', () => {
    throw new Error('hunter2');
  });
  const socket = { remoteAddress: '127.0.0.1' };
  const incoming = { socket, httpVersion: '1.1', headersDistinct: { host: ['localhost'] } };
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

/** A build whose console has one script. */
function built(script: Buffer): BuiltFiles {
  const directory = mkdtempSync(join(tmpdir(), 'built-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'console'));
  for (const name of ['index.html', 'docs.html', 'openapi.json']) {
    writeFileSync(join(directory, name), '');
  }
  writeFileSync(join(directory, 'asyncapi.json'), '{"servers":{}}');
  writeFileSync(join(directory, 'console/a.js'), script);
  writeFileSync(join(directory, 'console/a.js.gz'), gzipSync(script));
  return new BuiltFiles(directory, {});
}

async function answered(script: Buffer, accepted?: string): Promise<Response> {
  const app = new Hono<HttpEnv>();
  mountPages(app, built(script), []);
  const headers = accepted === undefined ? {} : { 'Accept-Encoding': accepted };
  return app.request('/console/a.js', { headers });
}

it.each([0, 1, 64 * KIB, 64 * KIB + 1, 200 * KIB])(
  'sends %i bytes of a file in pieces, without copies',
  async (length) => {
    const bytes = Buffer.alloc(length, 'x');
    const response = await answered(bytes);
    expect(response.headers.get('Content-Length')).toBe(String(length));
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body ?? []) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    for (const piece of pieces) {
      expect([piece.buffer === pieces[0]?.buffer, piece.length <= 64 * KIB]).toEqual([true, true]);
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
  const response = await answered(bytes, accepted);
  expect(response.headers.get('Content-Encoding')).toBe(coding);
  expect(response.headers.get('Vary')).toBe('Accept-Encoding');
  const body = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get('Content-Length')).toBe(String(body.length));
  expect((coding === null ? body : gunzipSync(body)).equals(bytes)).toBe(true);
});

it('plays recordings from their origin, and loads nothing else from there', async () => {
  const app = new Hono<HttpEnv>();
  mountPages(app, built(Buffer.from('')), ['https://recordings.example.org']);
  const policy = (await app.request('/')).headers.get('Content-Security-Policy')?.split('; ');
  expect(policy?.filter((one) => one.includes('example.org'))).toEqual([
    "media-src 'self' https://recordings.example.org",
  ]);
});

it('stops the start of a gateway that was not built, and says what to do', () => {
  const directory = mkdtempSync(join(tmpdir(), 'no-console-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  expect(() => new BuiltFiles(directory, {})).toThrow(
    `start-failed: the console in ${directory} cannot be read: npm ci && npm run build`,
  );
});
