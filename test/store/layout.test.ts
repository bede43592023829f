import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import { Keys } from '../../src/store/keys.js';
import { requireLayout } from '../../src/store/layout.js';
import { RedisServer } from '../harness/redis-server.js';

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.remove());

it('takes a store without a layout, and one with its own', async () => {
  const { redis } = server;
  const keys = new Keys(newId());
  await requireLayout(redis, keys);
  expect(await redis.get(keys.layout)).toBe('1');
  await requireLayout(redis, keys);
});

it('refuses a store of another layout, and leaves it as it is', async () => {
  const { redis } = server;
  const keys = new Keys(newId());
  await redis.set(keys.layout, 5);
  await expect(requireLayout(redis, keys)).rejects.toMatchObject({
    code: 'start-failed',
    detail: expect.stringContaining('layout 5'),
  });
  expect(await redis.get(keys.layout)).toBe('5');
});
