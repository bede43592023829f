import { expect, it } from 'vitest';
import { keysOf } from '../../src/store/keys.js';
import { SessionStoreRedis } from '../../src/store/session-store-redis.js';
import { Store } from '../../src/store/store.js';
import { RedisServer } from '../former/servers/redis-server.js';

const SESSION = {
  key: 'token:1/nurse',
  clientId: 'nurse',
  owner: 'token:1',
  seenAtMs: 1,
  subscriptions: [],
};

it('treats a session as unreadable when its key has another type, but not when the store refuses to read', async () => {
  const server = await RedisServer.start();
  const { redis } = server;
  const keys = keysOf('sessions');
  const store = new SessionStoreRedis(new Store(redis), keys);
  await store.save(SESSION);
  await store.save({ ...SESSION, key: 'token:1/overwritten' });
  await redis.set(keys.session('token:1/overwritten'), 'x');
  const { sessions, unreadable } = await store.load();
  expect(sessions).toMatchObject([SESSION]);
  expect(unreadable).toEqual(['token:1/overwritten']);
  await redis.acl('SETUSER', 'default', 'resetkeys', `~${keys.sessions}`);
  await expect(store.load()).rejects.toThrow('NOPERM');
  await server.remove();
});

it('releases all possible packet identifiers', async () => {
  const server = await RedisServer.start();
  const keys = keysOf('sessions');
  const store = new SessionStoreRedis(new Store(server.redis), keys);
  const identifiers = Array.from({ length: 65_535 }, (_, index) => index + 1);
  const received = keys.received(SESSION.key);
  for (const identifier of identifiers) void server.redis.hset(received, identifier, '1');
  await store.release(SESSION.key, identifiers);
  expect(await server.redis.hlen(received)).toBe(0);
  await server.remove();
});
