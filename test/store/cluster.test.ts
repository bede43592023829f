import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Keys } from '../../src/store/keys.js';
import { ClusterSource } from '../../src/store/pair/cluster-source.js';
import { Lease } from '../../src/store/pair/lease.js';
import { PrimaryWatch } from '../../src/store/pair/primary-watch.js';
import {
  connectManagementRedis,
  connectRedis,
  type StoreConnection,
  untilReady,
} from '../../src/store/server/connection.js';
import { StoreOutages } from '../../src/store/server/store-outages.js';
import { RedisCluster } from '../harness/redis-cluster.js';
import type { RedisProgram } from '../harness/redis-program.js';
import { until } from '../harness/until.js';
import { recordingLog } from './embedded-support.js';

const TAKEOVER_MS = 30_000;
/** Writes a key that exists, and one that does not and is not declared, as the scripts of the log do. */
const COUNT = `redis.call('INCR', KEYS[1]) redis.call('SET', ARGV[1], ARGV[2]) return #KEYS`;

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
});
afterAll(() => cluster.remove());

function connected(
  connect: typeof connectRedis,
  site: string,
  nodes: readonly RedisProgram[] = cluster.nodes,
): StoreConnection {
  const { log } = recordingLog();
  const access = { password: cluster.password };
  const absentKey = new Keys(site).absent;
  const source = new ClusterSource({
    nodes: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    ...{ access, key: absentKey },
  });
  const primary = new PrimaryWatch(source, log);
  primary.start();
  onTestFinished(() => primary.stop());
  const outages = new StoreOutages(log);
  const redis = connect({ primary, access, absentKey, log, outages, name: 'test' });
  onTestFinished(() => redis.disconnect());
  return redis;
}

function primaryOf(site: string): Promise<RedisProgram> {
  return cluster.slotOf(`{${site}}:`).then((slot) => cluster.primaryOf(slot));
}

async function portOf(redis: StoreConnection): Promise<number> {
  return Number(/^tcp_port:(\d+)/m.exec(await redis.info('server'))?.[1]);
}

describe('in a cluster', () => {
  test('is where the keys of the site are, from whichever node it learns that', async () => {
    for (const site of ['home-1', 'home-2', 'home-3', 'home-4']) {
      const [first, second] = cluster.nodes.slice(-2);
      if (first === undefined || second === undefined) throw new Error('there is no node');
      const redis = connected(connectRedis, site, [first, second]);
      expect(await portOf(redis)).toBe((await primaryOf(site)).port);
      expect(await redis.set(`{${site}}:a`, '1')).toBe('OK');
      expect(await redis.eval(COUNT, 1, `{${site}}:a`, `{${site}}:b`, '2')).toBe(1);
      expect(await redis.mget(`{${site}}:a`, `{${site}}:b`)).toEqual(['2', '2']);
    }
  });

  test('goes with the slot when it moves to and fro, keeps the order, and no script is done by half', async () => {
    const site = 'moving';
    const redis = connected(connectRedis, site);
    const management = connected(connectManagementRedis, site);
    await untilReady(management, TAKEOVER_MS);
    const slot = await cluster.slotOf(`{${site}}:`);
    const from = await cluster.primaryOf(slot);
    const others = await Promise.all(['home-1', 'home-2', 'home-3'].map(primaryOf));
    const to = others.find((program) => program !== from);
    if (to === undefined) throw new Error('there is no other primary');
    await redis.mset(`{${site}}:count`, '0', `{${site}}:changes`, '0');
    await Promise.all(Array.from({ length: 400 }, (_, at) => redis.set(`{${site}}:old:${at}`, at)));

    let sent = 0;
    let isOver = false;
    let unavailable = 0;
    const answers: Promise<unknown>[] = [];
    const changes: Promise<unknown>[] = [];
    const flood = setInterval(() => {
      if (isOver) return;
      sent++;
      answers.push(redis.eval(COUNT, 1, `{${site}}:count`, `{${site}}:entry:${sent}`, sent));
      answers.push(redis.rpush(`{${site}}:list`, sent));
      const change = `{${site}}:change:${sent}`;
      const changed = management.eval(COUNT, 1, `{${site}}:changes`, change, sent);
      changes.push(changed.catch(() => unavailable++));
    }, 1);
    await until(() => sent > 50, 'nothing was sent');
    for (const target of [to, from, to]) {
      const before = sent;
      await cluster.moveSlot(slot, target);
      await until(async () => (await portOf(redis)) === target.port, 'it does not go along');
      await until(() => sent > before + 50, 'nothing was sent afterwards');
    }
    isOver = true;
    clearInterval(flood);
    await Promise.all([...answers, ...changes]);

    const count = async (pattern: string) => {
      const found = await to.redis.keys(`{${site}}:${pattern}`);
      return found.length;
    };
    expect(await redis.get(`{${site}}:count`)).toBe(String(sent));
    expect(await count('entry:*')).toBe(sent);
    // A change that failed is not there at all.
    expect(await count('change:*')).toBe(sent - unavailable);
    expect(await redis.get(`{${site}}:changes`)).toBe(String(sent - unavailable));
    expect(await count('old:*')).toBe(400);
    const list = z.array(z.string()).parse(await to.redis.lrange(`{${site}}:list`, 0, -1));
    expect(list.map(Number)).toEqual(Array.from({ length: sent }, (_, at) => at + 1));
    await cluster.untilWhole();
  });

  test('has its lease taken, renewed and given up when the memory of the primary is full', async () => {
    const site = 'full';
    const redis = connected(connectManagementRedis, site);
    await untilReady(redis, TAKEOVER_MS);
    const primary = await primaryOf(site);
    await primary.redis.config('SET', 'maxmemory', 1);
    onTestFinished(async () => void (await primary.redis.config('SET', 'maxmemory', 0)));
    await expect(redis.set(`{${site}}:a`, '1')).rejects.toThrow('OOM');

    const key = new Keys(site).lease;
    const clock = { lengthMs: 60_000, elapsed: () => performance.now() };
    const lease = new Lease({ redis, key, holder: 'first', place: '', ...clock });
    expect((await lease.take()).isOurs).toBe(true);
    expect((await lease.renew(1)).isOurs).toBe(true);
    await lease.release(1);
    expect(await redis.hget(key, 'holder')).toBe('');
  });

  // Last: it leaves the cluster with a primary that is frozen.
  test('goes on at the replica when the primary is frozen', async () => {
    const site = 'taken-over';
    const redis = connected(connectRedis, site);
    await redis.set(`{${site}}:before`, '1');
    await redis.wait(1, 5_000);
    const former = await primaryOf(site);
    former.freeze();
    expect(await redis.set(`{${site}}:during`, '1')).toBe('OK');
    expect(await redis.get(`{${site}}:before`)).toBe('1');
    expect(await portOf(redis)).not.toBe(former.port);
  });
});
