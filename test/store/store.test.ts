import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Script } from '../../src/store/scripts.js';
import { Store, type WriteGuard } from '../../src/store/store.js';
import { RedisProgram } from '../harness/redis.js';

const LEASE = '{home}:lease';
const KEY = '{home}:one';
const PREFIX = '{home}:';
const TOKEN = '7 box-a';
const TAKEN = '8 box-b';
const push = new Script('push', z.number());
const find = new Script('find', z.array(z.string()));

let server: RedisProgram;

beforeAll(async () => {
  server = await RedisProgram.start();
});

afterAll(async () => server.remove());

beforeEach(async () => {
  await server.redis.flushall();
  await server.redis.hset(LEASE, 'token', TOKEN);
});

/** A store under a lease. */
function guarded(guard: Partial<WriteGuard> = {}): Store {
  const redis = new Redis({ path: server.socketPath });
  onTestFinished(() => redis.disconnect());
  return new Store(redis, PREFIX, { guard: { token: TOKEN, fenced: () => undefined, ...guard } });
}

async function takeLease(): Promise<void> {
  await server.redis.hset(LEASE, 'token', TAKEN);
}

/** The keys besides the lease. */
async function storedKeys(): Promise<string[]> {
  return (await server.redis.keys('*')).filter((key) => key !== LEASE);
}

const PUSHED = { list: KEY, owner: false, maxLength: 10, maxBytes: 1_000, values: ['text'] };

const WRITES: Record<string, (store: Store) => Promise<unknown>> = {
  commands: (store) => store.write(['SET', KEY, 'text']),
  'a command with bytes': (store) => store.write(['SET', KEY, Buffer.from([0, 255])]),
  'a script': (store) => store.run(push, PUSHED),
};

describe('a write under a lease', () => {
  test.each(Object.entries(WRITES))('makes %s while the lease is held', async (_, write) => {
    await write(guarded());

    expect(await storedKeys()).toEqual([KEY]);
  });

  test.each(Object.entries(WRITES))(
    'refuses %s when another gateway has the lease',
    async (_, write) => {
      let fenced = 0;
      const store = guarded({ fenced: () => fenced++ });
      await takeLease();

      await expect(write(store)).rejects.toThrow(/^FENCED/);

      expect(await storedKeys()).toEqual([]);
      expect(fenced).toBe(1);
    },
  );

  test('is refused when the lease is gone', async () => {
    await server.redis.flushall();

    await expect(guarded().write(['SET', KEY, 'text'])).rejects.toThrow(/^FENCED/);
  });

  test('answers like the commands themselves, and ends at the first that fails', async () => {
    const store = guarded();

    expect(await store.write(['RPUSH', KEY, 'a', 'b'], ['LPOP', KEY])).toEqual([2, 'a']);
    expect(await store.write(['GETDEL', '{home}:none'], ['DEL', KEY])).toEqual([null, 1]);
    await server.redis.hset(KEY, 'field', 'text');
    await expect(store.write(['LPUSH', KEY, 'a'], ['DEL', KEY])).rejects.toThrow('WRONGTYPE');
    expect(await storedKeys()).toEqual([KEY]);
  });

  test.each(['HSET', 'HDEL', 'LPUSH', 'SADD', 'SREM', 'ZREM'])(
    'writes nothing when a later %s would fail for the type of its key',
    async (command) => {
      const store = guarded();
      await server.redis.set(KEY, 'text');
      const args = command === 'HSET' ? ['a', 'b'] : ['a'];
      const writing = store.write(['SET', '{home}:other', 'x'], [command, KEY, ...args]);
      await expect(writing).rejects.toThrow('WRONGTYPE');
      expect(await storedKeys()).toEqual([KEY]);
    },
  );

  test('allows reads when another gateway has the lease', async () => {
    const store = guarded();
    await takeLease();

    expect(await store.read((redis) => redis.get(KEY))).toBeNull();
    expect(await store.run(find, { id: 'id', location: '', device: '' })).toEqual([]);
  });
});

test('sends the text of a script once over a connection, and again when the server has forgotten it', async () => {
  const redis = new Redis({ path: server.socketPath });
  onTestFinished(() => redis.disconnect());
  await redis.script('FLUSH');
  await redis.config('RESETSTAT');
  const store = new Store(redis, '{site}:');
  const add = async () => expect(await store.write(['RPUSH', 'list', 'x'])).toHaveLength(1);
  const calls = async (command: string) => {
    const stats = await redis.info('commandstats');
    return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  };
  await Promise.all([add(), add(), add()]);
  expect([await calls('eval'), await calls('evalsha')]).toEqual([1, 2]);
  await redis.script('FLUSH');
  await Promise.all([add(), add()]);
  expect(await redis.llen('list')).toBe(5);
});
