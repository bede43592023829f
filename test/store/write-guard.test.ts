import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { guardWrites, type WriteGuard } from '../../src/store/pair/write-guard.js';
import { Script } from '../../src/store/scripts.js';
import { runAtOnce } from '../../src/store/server/transaction.js';
import { RedisServer } from '../harness/redis-server.js';

const LEASE = '{home}:lease';
const FENCE = { key: LEASE, token: '7 box-a' };
const TAKEN = '8 box-b';
const pushBounded = new Script('push-bounded', z.number());
const PUSHED = ['', 10, 1_000, 'text'];

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(async () => server.remove());

beforeEach(async () => {
  await server.redis.flushall();
  await server.redis.hset(LEASE, 'token', FENCE.token);
});

/** A connection whose writes are guarded. */
function guarded(guard: WriteGuard, keyPrefix = ''): Redis {
  const redis = new Redis({ path: server.socketPath, keyPrefix, maxRetriesPerRequest: null });
  onTestFinished(() => redis.disconnect());
  guardWrites(redis, guard);
  return redis;
}

async function takeLease(): Promise<void> {
  await server.redis.hset(LEASE, 'token', TAKEN);
}

/** The keys beside the lease. */
async function storedKeys(): Promise<string[]> {
  return (await server.redis.keys('*')).filter((key) => key !== LEASE);
}

/** One of each kind of write that the gateway and its libraries make. */
const WRITES: Record<string, (redis: Redis) => Promise<unknown>> = {
  'a command': (redis) => redis.set('{home}:one', 'text'),
  'a command with bytes': (redis) => redis.set('{home}:one', Buffer.from([0, 255])),
  'a command by its name': (redis) => redis.call('SADD', '{home}:one', 'member'),
  'a script': (redis) => pushBounded.run(redis, ['{home}:one'], PUSHED),
  'a script with bytes for an answer': (redis) =>
    pushBounded.runForBuffers(redis, ['{home}:one'], PUSHED),
  'commands at once': (redis) => runAtOnce(redis, [['LPUSH', '{home}:one', 'text']]),
  'a pipeline': async (redis) => {
    const replies = await redis.pipeline().hset('{home}:one', { field: 'text' }).exec();
    for (const [error] of replies ?? []) if (error !== null) throw error;
  },
};

describe('guardWrites', () => {
  test.each(Object.entries(WRITES))('makes %s while the lease is held', async (_, write) => {
    await write(guarded({ fence: FENCE }));

    expect(await storedKeys()).toEqual(['{home}:one']);
  });

  test.each(Object.entries(WRITES))(
    'refuses %s when another gateway has the lease',
    async (_, write) => {
      let fenced = 0;
      const redis = guarded({ fence: FENCE, fenced: () => fenced++ });
      await takeLease();

      await expect(write(redis)).rejects.toThrow(/^FENCED/);

      expect(await storedKeys()).toEqual([]);
      expect(fenced).toBe(1);
    },
  );

  test('refuses a write when the lease is gone', async () => {
    const redis = guarded({ fence: FENCE });
    await server.redis.flushall();

    await expect(redis.set('{home}:one', 'text')).rejects.toThrow(/^FENCED/);
  });

  test('answers as the command itself does', async () => {
    const redis = guarded({ fence: FENCE }, '{home}:');

    expect(await redis.set('text', 'ä')).toBe('OK');
    expect(await redis.incr('number')).toBe(1);
    expect(await redis.hset('hash', { one: '1', two: '2' })).toBe(2);
    expect(await redis.getdel('text')).toBe('ä');
    expect(await redis.getdel('text')).toBeNull();
    expect(await redis.lpush('list', 'a', 'b')).toBe(2);
    expect(await redis.lpop('list', 2)).toEqual(['b', 'a']);
    await redis.set('bytes', Buffer.from([0, 255]));
    expect(await redis.getdelBuffer('bytes')).toEqual(Buffer.from([0, 255]));
    await expect(redis.lpush('hash', 'a')).rejects.toThrow(/^WRONGTYPE/);
    expect(await storedKeys()).toEqual(expect.arrayContaining(['{home}:number', '{home}:hash']));
  });

  test('answers a pipeline in its order when reads and writes alternate', async () => {
    const redis = guarded({ fence: FENCE });

    const replies = await redis
      .pipeline()
      .get('{home}:one')
      .set('{home}:one', '1')
      .get('{home}:one')
      .hset('{home}:two', { field: '2' })
      .exec();

    expect(replies).toEqual([
      [null, null],
      [null, 'OK'],
      [null, '1'],
      [null, 1],
    ]);
  });

  test('removes more at once than Lua can unpack', async () => {
    const redis = guarded({ fence: FENCE });
    const names = Array.from({ length: 20_000 }, (_, number) => `{home}:${number}`);
    await server.redis.mset(...names.flatMap((name) => [name, '']));
    await server.redis.sadd('{home}:set', names);

    expect(await redis.srem('{home}:set', ...names)).toBe(20_000);
    expect(await redis.unlink(...names)).toBe(20_000);
    expect(await storedKeys()).toEqual([]);
    expect(() => redis.sadd('{home}:set', names)).toThrow('too many arguments');
  });

  test('lets reads through when another gateway has the lease', async () => {
    const redis = guarded({ fence: FENCE });
    await takeLease();

    expect(await redis.get('{home}:one')).toBeNull();
    expect(await redis.ping()).toBe('PONG');
  });

  test('refuses a transaction', async () => {
    const redis = guarded({ fence: FENCE });

    expect(() => redis.multi().set('{home}:one', 'text').exec()).toThrow('multi cannot be checked');

    expect(await storedKeys()).toEqual([]);
  });

  test('answers a write only when it is confirmed, and no read waits for that', async () => {
    let confirm: () => void = () => undefined;
    const confirmation = new Promise<void>((resolve) => {
      confirm = resolve;
    });
    const confirmed = async (send: () => Promise<unknown>) => {
      const reply = await send();
      await confirmation;
      return reply;
    };
    const redis = guarded({ confirmed });
    const events: string[] = [];
    const write = redis.set('{home}:one', 'text').then((reply) => events.push(reply));

    expect(await redis.get('{home}:one')).toBe('text');
    events.push('read');
    confirm();
    await write;

    expect(events).toEqual(['read', 'OK']);
  });

  test('sends a write again when it could not be confirmed', async () => {
    const confirmed = async (send: () => Promise<unknown>) => {
      await send();
      return send();
    };
    const redis = guarded({ fence: FENCE, confirmed });

    expect(await redis.incr('{home}:one')).toBe(2);
    expect(await redis.pipeline().incr('{home}:one').exec()).toEqual([[null, 4]]);
  });

  test('keeps the order of writes when the connection broke before they were answered', async () => {
    const redis = guarded({ fence: FENCE });
    await redis.ping();
    process.kill(server.processId, 'SIGSTOP');
    const written = [1, 2, 3].map((number) => redis.rpush('{home}:one', number));
    redis.disconnect(true);
    process.kill(server.processId, 'SIGCONT');
    await Promise.all(written);

    const stored = await server.redis.lrange('{home}:one', -3, -1);
    expect(stored).toEqual(['1', '2', '3']);
  });
});

describe('a reply that is read when the lease may have ended', () => {
  test('is handed on, and those after it in order, when the lease is still held', async () => {
    let answer: (isHeld: boolean) => void = () => undefined;
    const held = new Promise<boolean>((resolve) => {
      answer = resolve;
    });
    const order: string[] = [];
    const redis = guarded({ fence: FENCE, overdue: () => held });
    const first = redis.set('{home}:one', 'text').then(() => order.push('first'));
    const second = redis.set('{home}:two', 'text').then(() => order.push('second'));
    await redis.ping();
    expect(order).toEqual([]);
    answer(true);
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
  });

  test('is refused when another gateway has the lease, although the write was made', async () => {
    let fenced = 0;
    const overdue = () => Promise.resolve(false);
    const redis = guarded({ fence: FENCE, overdue, fenced: () => fenced++ });

    await expect(redis.set('{home}:one', 'text')).rejects.toThrow(/^FENCED/);

    expect(fenced).toBe(1);
    expect(await storedKeys()).toEqual(['{home}:one']);
  });
});
