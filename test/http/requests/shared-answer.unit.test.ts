import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import type { HttpEnv } from '../../../src/http/http-env.js';
import { SharedAnswer } from '../../../src/http/shared-answer.js';

const KIB = 1024;

function appWith(bytes: Uint8Array) {
  const answer = new SharedAnswer(() => bytes, { 'Content-Type': 'x/y' });
  return new Hono<HttpEnv>().get('/', (c) => answer.to(c));
}

it.each([0, 1, 64 * KIB, 64 * KIB + 1, 200 * KIB])(
  'sends %i bytes in pieces without copying',
  async (length) => {
    const bytes = randomBytes(length);
    const response = await appWith(bytes).request('/');
    expect(response.headers.get('Content-Length')).toBe(String(length));
    expect(response.headers.get('Content-Type')).toBe('x/y');
    const pieces: Uint8Array[] = [];
    for await (const piece of response.body ?? []) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    for (const piece of pieces) {
      expect(piece.buffer).toBe(bytes.buffer);
      expect(piece.length).toBeLessThanOrEqual(64 * KIB);
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
])('when the client accepts %s, the coding is %s', async (accepted, coding) => {
  const bytes = Buffer.alloc(100 * KIB, 'openapi');
  const headers = accepted === undefined ? {} : { 'Accept-Encoding': accepted };
  const response = await appWith(bytes).request('/', { headers });
  expect(response.headers.get('Content-Encoding')).toBe(coding);
  expect(response.headers.get('Vary')).toBe('Accept-Encoding');
  const body = Buffer.from(await response.arrayBuffer());
  expect(response.headers.get('Content-Length')).toBe(String(body.length));
  expect(body.length > KIB).toBe(coding === null);
  expect((coding === null ? body : gunzipSync(body)).equals(bytes)).toBe(true);
});

it('compresses once for all clients', async () => {
  const app = appWith(Buffer.alloc(100 * KIB, 'openapi'));
  const ask = async () => {
    const response = await app.request('/', { headers: { 'Accept-Encoding': 'gzip' } });
    const { done, value } = (await response.body?.getReader().read()) ?? { done: true };
    return done ? undefined : value?.buffer;
  };
  const [first, second] = await Promise.all([ask(), ask()]);
  expect(first).toBeDefined();
  expect(second).toBe(first);
});
