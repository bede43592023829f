import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { PrimaryWatch } from '../../../src/store/pair/primary-watch.js';
import { sentinelSource } from '../../../src/store/pair/sentinels.js';
import {
  connectManagementRedis,
  connectRedis,
  type StoreConnection,
  type StorePlace,
  untilReady,
} from '../../../src/store/server/connection.js';
import { StoreOutages } from '../../../src/store/server/store-outages.js';
import { Store } from '../../../src/store/store.js';
import { RedisPair } from '../../former/servers/redis-pair.js';
import { RedisProgram } from '../../former/servers/redis-program.js';
import { unusedPort } from '../../former/servers/unused-port.js';
import { until } from '../../former/until.js';
import { recordingLog, temporaryDirectory } from '../embedded-support.js';

/** The hurried Sentinels have a new primary within this time, and tests wait for nothing else. */
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

/** A store that waits for the primary, as on the message path. */
function patient(place: StorePlace): Store {
  return new Store(connected(connectRedis, place), { isPatient: true });
}

async function portOf(store: Store): Promise<number> {
  const info = await store.read((redis) => redis.info('server'));
  return Number(/^tcp_port:(\d+)/m.exec(info)?.[1]);
}

/** Freezes a program for the rest of the test. */
function freeze(program: RedisProgram): void {
  program.freeze();
  onTestFinished(() => program.thaw());
}

describe('behind Sentinels, a store', () => {
  test('continues at the new primary when the roles change', async () => {
    const place = placeOfPair();
    const store = patient(place);
    await store.write(['DEL', 'list']);
    const former = await pair.primary();
    let sent = 0;
    let isOver = false;
    const write = async () => {
      while (!isOver) await store.write(['RPUSH', 'list', String(++sent)]);
    };
    const writing = write();
    await until(() => sent > 200, 'nothing was sent');
    await pair.failover();
    const next = await pair.primary();
    await until(async () => (await portOf(store)) === next.port, 'it does not follow');
    isOver = true;
    await writing;
    expect(next).not.toBe(former);
    const list = await next.redis.lrange('list', 0, -1);
    // Unanswered values are there twice; the last of each is in order.
    const last = new Map(list.map((value, at) => [Number(value), at]));
    const order = [...last].sort(([one], [other]) => one - other).map(([, at]) => at);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(list.at(-1)).toBe(String(sent));
    expect(place.messages.join()).toContain('the store has a new primary');
    await pair.untilReplicated();
  });

  test('continues at the new primary when the former is silent, but never sends a change later', async () => {
    const redis = connected(connectRedis, placeOfPair());
    const store = new Store(redis, { isPatient: true });
    const management = connected(connectManagementRedis, placeOfPair());
    await store.write(['SET', 'before', '1']);
    await redis.wait(1, 5_000);
    await untilReady(management, TAKEOVER_MS);
    const former = await pair.primary();
    freeze(former);
    const frozenInTheHandshake = patient(placeOfPair());
    const writes = [
      store.write(['SET', 'during', '1']),
      frozenInTheHandshake.write(['SET', 'handshake', '1']),
    ];
    await expect(management.set('change', '1')).rejects.toThrow();
    await expect(management.get('other')).rejects.toThrow();
    expect(await Promise.all(writes)).toEqual([['OK'], ['OK']]);
    expect(await pair.replica()).toBe(former);
    await untilReady(management, TAKEOVER_MS);
    former.thaw();
    await pair.untilReplicated();
    const keys = ['before', 'during', 'handshake', 'change'];
    for (const one of [redis, management, former.redis]) {
      expect(await one.mget(keys)).toEqual(['1', '1', '1', null]);
    }
  });

  test('connects when one Sentinel is frozen and another is gone', async () => {
    const [first, second] = pair.sentinelPrograms;
    if (first === undefined || second === undefined) throw new Error('there is no Sentinel');
    freeze(first);
    await second.kill();
    const store = patient(placeOfPair());
    expect(await portOf(store)).toBe((await pair.primary()).port);
    await second.start();
  });

  test('closes, and fails what waits, while no Sentinel answers', async () => {
    const [first] = pair.sentinelPrograms;
    if (first === undefined) throw new Error('there is no Sentinel');
    freeze(first);
    const store = patient(placeOfPair([first]));
    const unsent = expect(store.read((redis) => redis.get('a'))).rejects.toThrow();
    store.close();
    await unsent;
  });
});

/** Starts the test's own server. */
async function startServer(): Promise<RedisProgram> {
  const port = await unusedPort();
  const directory = temporaryDirectory();
  const args = ['--port', String(port), '--dir', directory, '--save', ''];
  const server = new RedisProgram({ args, directory, port, password: undefined });
  onTestFinished(() => server.remove());
  await server.start();
  return server;
}

describe('at a fixed address, a store', () => {
  test('waits until a server that has become a replica accepts writes again', async () => {
    const server = await startServer();
    const url = `redis://127.0.0.1:${server.port}`;
    const redis = connected(connectRedis, { url });
    const store = new Store(redis, { isPatient: true });
    const management = connected(connectManagementRedis, { url });
    await untilReady(management, TAKEOVER_MS);
    await store.write(['SET', 'fixed', '0']);
    await server.redis.replicaof('127.0.0.1', 1);
    const written = store.write(['SET', 'fixed', '1']);
    await expect(management.set('other', '1')).rejects.toThrow(/^READONLY/);
    await once(redis, 'reconnecting');
    await server.redis.replicaof('NO', 'ONE');
    expect(await written).toEqual(['OK']);
    expect(await server.redis.get('fixed')).toBe('1');
  });
});
