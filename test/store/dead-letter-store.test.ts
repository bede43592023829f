import { expect, it } from 'vitest';
import { DeadLetterStoreRedis } from '../../src/store/dead-letter-store-redis.js';
import { keysOf } from '../../src/store/keys.js';
import { Store } from '../../src/store/store.js';
import { RedisServer } from '../former/servers/redis-server.js';

const MIB = 1024 * 1024;
/** The largest packet allowed by default. */
const PAYLOAD = Buffer.alloc(256 * 1024, 'x');
const COUNT = 100;

it('keeps the newest dead letters of a bridge within 16 MiB when payloads are large', async () => {
  const server = await RedisServer.start();
  const { redis } = server;
  const keys = keysOf('dead');
  const store = new DeadLetterStoreRedis(new Store(redis), keys);
  for (let atMs = 1; atMs <= COUNT; atMs++) {
    await store.add('hq', { atMs, topic: 't', reason: 'Packet too large', payload: PAYLOAD });
    expect(await redis.memory('USAGE', keys.deadLetters('hq'))).toBeLessThan(16.1 * MIB);
  }
  const kept = (await store.list('hq')).map(({ atMs }) => atMs);
  expect(kept.length).toBeGreaterThan(20);
  expect(kept).toEqual(kept.map((_, index) => COUNT - index));
  // An unreadable entry hides no others.
  await redis.lset(keys.deadLetters('hq'), 1, '{"atMs":1}');
  expect(await store.list('hq')).toHaveLength(kept.length - 1);
  await server.remove();
});

it('removes the dead letter that it has read, even if a newer one has pushed it out', async () => {
  const server = await RedisServer.start();
  const keys = keysOf('dead');
  const store = new DeadLetterStoreRedis(new Store(server.redis), keys);
  const add = (atMs: number) => store.add('hq', { atMs, topic: 't', reason: '', payload: PAYLOAD });
  for (const atMs of [1, 2, 3]) await add(atMs);
  // It cannot be read, and so not be sent.
  await server.redis.rpush(keys.deadLetters('hq'), '{"atMs":0}');
  const oldest = await store.oldest('hq');
  expect(oldest?.letter.atMs).toBe(1);
  await server.redis.rpop(keys.deadLetters('hq'));
  await oldest?.remove();
  expect((await store.list('hq')).map(({ atMs }) => atMs)).toEqual([3, 2]);
  await server.remove();
});
