import { randomBytes } from 'node:crypto';
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { sharedAnswer } from '../../src/http/shared-answer.js';

const KIB = 1024;

it.each([0, 1, 64 * KIB, 64 * KIB + 1, 200 * KIB])(
  'sends %i bytes in pieces without copying',
  async (length) => {
    const bytes = randomBytes(length);
    const app = new Hono().get('/', (c) => sharedAnswer(c, bytes, { 'Content-Type': 'x/y' }));
    const response = await app.request('/');
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
