import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { WriteGuard } from '../../src/store/pair/fence.js';
import { Script } from '../../src/store/scripts.js';
import { Store } from '../../src/store/store.js';
import { RedisProgram } from '../harness/redis.js';

const LEASE = '{home}:lease';
const KEY = '{home}:one';
const FENCE = { key: LEASE, token: '7 box-a' };
const TAKEN = '8 box-b';
const pushBounded = new Script('push-bounded', z.number());
const findAlarm = new Script('find-alarm', z.array(z.string()));

let server: RedisProgram;

beforeAll(async () => {
  server = await RedisProgram.start();
});

afterAll(async () => server.remove());

beforeEach(async () => {
  await server.redis.flushall();
  await server.redis.hset(LEASE, 'token', FENCE.token);
});

/** A store under a lease. */
function guarded(guard: Partial<WriteGuard> = {}): Store {
  const redis = new Redis({ path: server.socketPath });
  onTestFinished(() => redis.disconnect());
  return new Store(redis, {
    guard: { fence: FENCE, fenced: () => undefined, ...guard },
  });
}

async function takeLease(): Promise<void> {
  await server.redis.hset(LEASE, 'token', TAKEN);
}

/** The keys besides the lease. */
async function storedKeys(): Promise<string[]> {
  return (await server.redis.keys('*')).filter((key) => key !== LEASE);
}

const WRITES: Record<string, (store: Store) => Promise<unknown>> = {
  commands: (store) => store.write(['SET', KEY, 'text']),
  'a command with bytes': (store) => store.write(['SET', KEY, Buffer.from([0, 255])]),
  'a script': (store) => store.run(pushBounded, [KEY], ['', 10, 1_000, 'text']),
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

  test('allows reads when another gateway has the lease', async () => {
    const store = guarded();
    await takeLease();

    expect(await store.read((redis) => redis.get(KEY))).toBeNull();
    const args = ['field', 'places:', 'here', 'id'];
    expect(await store.run(findAlarm, ['history', 'ids'], args)).toEqual([]);
  });
});

describe('in a cluster', () => {
  test('a script sees the keys that it declares, but not the absent one', async () => {
    const absentKey = '{home}:absent';
    const store = new Store(server.redis, { absentKey });

    expect(await store.run(pushBounded, [KEY], ['', 10, 1_000, 'text'])).toBe(1);

    expect(await server.redis.lrange(KEY, 0, -1)).toEqual(['text']);
    expect(await server.redis.exists(absentKey)).toBe(0);
  });
});

test('sends the text of a script once over a connection, and again when the server has forgotten it', async () => {
  const redis = new Redis({ path: server.socketPath });
  onTestFinished(() => redis.disconnect());
  await redis.script('FLUSH');
  await redis.config('RESETSTAT');
  const store = new Store(redis);
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
