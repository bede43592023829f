import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { PrimaryWatch } from '../../src/store/pair/primary-watch.js';
import { sentinelSource } from '../../src/store/pair/sentinels.js';
import {
  connectManagementRedis,
  connectRedis,
  type StoreConnection,
  type StorePlace,
  untilReady,
} from '../../src/store/server/connection.js';
import { StoreOutages } from '../../src/store/server/store-outages.js';
import { RedisPair } from '../harness/redis-pair.js';
import { RedisProgram } from '../harness/redis-program.js';
import { until } from '../harness/until.js';
import { unusedPort } from '../harness/unused-port.js';
import { recordingLog, temporaryDirectory } from './embedded-support.js';

/** Within this the hurried Sentinels have a new primary, and nobody waits for anything else. */
const TAKEOVER_MS = 30_000;

let pair: RedisPair;
beforeAll(async () => {
  pair = await RedisPair.start({ isHurried: true });
});
afterAll(() => pair.remove());

/** A store behind the pair's Sentinels; the messages are those of its log. */
function placeOfPair(sentinels = pair.sentinelPrograms): StorePlace & { messages: string[] } {
  const { log, messages } = recordingLog();
  const source = sentinelSource({
    sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    name: pair.name,
    access: { password: pair.sentinelPassword },
  });
  const primary = new PrimaryWatch(source, log);
  primary.start();
  onTestFinished(() => primary.stop());
  return { primary, access: { password: pair.password }, messages };
}

function connected(connect: typeof connectRedis, place: StorePlace): StoreConnection {
  const { log } = recordingLog();
  const redis = connect({ ...place, log, outages: new StoreOutages(log), name: 'test' });
  onTestFinished(() => redis.disconnect());
  return redis;
}

async function portOf(redis: StoreConnection): Promise<number> {
  return Number(/^tcp_port:(\d+)/m.exec(await redis.info('server'))?.[1]);
}

/** Freezes a program for the rest of the test. */
function freeze(program: RedisProgram): void {
  program.freeze();
  onTestFinished(() => program.thaw());
}

describe('behind Sentinels', () => {
  test('goes on at the new primary, in the order of the calls, when the roles change', async () => {
    const place = placeOfPair();
    const redis = connected(connectRedis, place);
    await redis.del('list');
    const former = await pair.primary();
    let sent = 0;
    let isOver = false;
    const answers: Promise<unknown>[] = [];
    const flood = setInterval(() => {
      for (let count = 0; count < 20 && !isOver; count++) {
        answers.push(redis.rpush('list', ++sent));
      }
    }, 1);
    await until(() => sent > 200, 'nothing was sent');
    await pair.failover();
    const next = await pair.primary();
    await until(async () => (await portOf(redis)) === next.port, 'it does not follow');
    isOver = true;
    clearInterval(flood);
    await Promise.all(answers);
    expect(next).not.toBe(former);
    const list = await next.redis.lrange('list', 0, -1);
    // What had no answer is there twice; the last of each is in order.
    const last = new Map(list.map((value, at) => [Number(value), at]));
    const order = [...last].sort(([one], [other]) => one - other).map(([, at]) => at);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(list.at(-1)).toBe(String(sent));
    expect(place.messages.join()).toContain('the store has a new primary');
    await pair.untilReplicated();
  });

  test('goes on at the new primary, but never sends a change later, when the former is silent', async () => {
    const redis = connected(connectRedis, placeOfPair());
    const management = connected(connectManagementRedis, placeOfPair());
    await redis.set('before', '1');
    await redis.wait(1, 5_000);
    await untilReady(management, TAKEOVER_MS);
    const former = await pair.primary();
    freeze(former);
    const frozenInTheHandshake = connected(connectRedis, placeOfPair());
    const writes = [redis.set('during', '1'), frozenInTheHandshake.set('handshake', '1')];
    await expect(management.set('change', '1')).rejects.toThrow();
    await expect(management.get('other')).rejects.toThrow();
    expect(await Promise.all(writes)).toEqual(['OK', 'OK']);
    expect(await pair.replica()).toBe(former);
    await untilReady(management, TAKEOVER_MS);
    former.thaw();
    await pair.untilReplicated();
    const keys = ['before', 'during', 'handshake', 'change'];
    for (const one of [redis, management, former.redis]) {
      expect(await one.mget(keys)).toEqual(['1', '1', '1', null]);
    }
  });

  test('is there when a Sentinel is frozen and another is gone', async () => {
    const [first, second] = pair.sentinelPrograms;
    if (first === undefined || second === undefined) throw new Error('there is no Sentinel');
    freeze(first);
    await second.kill();
    const redis = connected(connectRedis, placeOfPair());
    expect(await portOf(redis)).toBe((await pair.primary()).port);
    await second.start();
  });

  test('ends, and fails what waits, while no Sentinel answers', async () => {
    const [first] = pair.sentinelPrograms;
    if (first === undefined) throw new Error('there is no Sentinel');
    freeze(first);
    const redis = connected(connectRedis, placeOfPair([first]));
    const unsent = expect(redis.get('a')).rejects.toThrow('closed');
    redis.disconnect();
    await unsent;
  });
});

/** A server of the test's own. */
async function startServer(): Promise<RedisProgram> {
  const port = await unusedPort();
  const directory = temporaryDirectory();
  const args = ['--port', String(port), '--dir', directory, '--save', ''];
  const server = new RedisProgram({ args, directory, port, password: undefined });
  onTestFinished(() => server.remove());
  await server.start();
  return server;
}

describe('at a fixed address', () => {
  test('waits until a server that has become a replica takes writes again', async () => {
    const server = await startServer();
    const url = `redis://127.0.0.1:${server.port}`;
    const redis = connected(connectRedis, { url });
    const management = connected(connectManagementRedis, { url });
    await untilReady(management, TAKEOVER_MS);
    await redis.set('fixed', '0');
    await server.redis.replicaof('127.0.0.1', 1);
    const written = redis.set('fixed', '1');
    await expect(management.set('other', '1')).rejects.toThrow(/^READONLY/);
    await once(redis, 'reconnecting');
    await server.redis.replicaof('NO', 'ONE');
    expect(await written).toBe('OK');
    expect(await server.redis.get('fixed')).toBe('1');
  });
});

test('keeps the order of a write that was refused and one that had no answer yet', async () => {
  const server = await startServer();
  const claim = { primary: { host: '127.0.0.1', port: server.port }, epoch: 1 };
  const source = { name: 'fixed', ask: () => [Promise.resolve(claim)], stop: () => undefined };
  const { log } = recordingLog();
  const redis = connected(connectRedis, { primary: new PrimaryWatch(source, log) });
  await redis.set('key', 'before');
  await server.redis.replicaof('127.0.0.1', 1);
  const broken = once(redis, 'reconnecting');
  // The server refuses the first while the second is still on its way.
  const last = 'x'.repeat(8 * 1024 * 1024);
  const answers = [redis.set('key', 'first'), redis.set('key', last)];
  await broken;
  await server.redis.replicaof('NO', 'ONE');
  expect(await Promise.all(answers)).toEqual(['OK', 'OK']);
  expect(await server.redis.strlen('key')).toBe(last.length);
});
