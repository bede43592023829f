import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { keysOf } from '../../../src/store/keys.js';
import { clusterSource } from '../../../src/store/pair/cluster-source.js';
import { Lease } from '../../../src/store/pair/lease.js';
import { PrimaryWatch } from '../../../src/store/pair/primary-watch.js';
import {
  connectManagementRedis,
  connectRedis,
  type StoreConnection,
  untilReady,
} from '../../../src/store/server/connection.js';
import { StoreOutages } from '../../../src/store/server/store-outages.js';
import { Store } from '../../../src/store/store.js';
import { RedisCluster } from '../../former/servers/redis-cluster.js';
import type { RedisProgram } from '../../former/servers/redis-program.js';
import { until } from '../../former/until.js';
import { recordingLog } from '../embedded-support.js';

const TAKEOVER_MS = 30_000;
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
  const source = clusterSource({
    nodes: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    access,
    key: keysOf(site).absent,
  });
  const primary = new PrimaryWatch(source, log);
  primary.start();
  onTestFinished(() => primary.stop());
  const outages = new StoreOutages(log);
  const redis = connect({ primary, access, log, outages, name: 'test' });
  onTestFinished(() => redis.disconnect());
  return redis;
}

function primaryOf(site: string): Promise<RedisProgram> {
  return cluster.slotOf(`{${site}}:`).then((slot) => cluster.primaryOf(slot));
}

/** A store that waits for the primary, as on the message path. */
function patient(site: string, nodes?: readonly RedisProgram[]): Store {
  const absentKey = keysOf(site).absent;
  return new Store(connected(connectRedis, site, nodes), { absentKey, isPatient: true });
}

async function portOf(store: Store): Promise<number> {
  const info = await store.read((redis) => redis.info('server'));
  return Number(/^tcp_port:(\d+)/m.exec(info)?.[1]);
}

describe('in a cluster, a store', () => {
  test('connects to the primary of the site’s keys, whichever node names it', async () => {
    for (const site of ['home-1', 'home-2', 'home-3', 'home-4']) {
      const [first, second] = cluster.nodes.slice(-2);
      if (first === undefined || second === undefined) throw new Error('there is no node');
      const store = patient(site, [first, second]);
      expect(await portOf(store)).toBe((await primaryOf(site)).port);
      expect(await store.write(['SET', `{${site}}:a`, '1'])).toEqual(['OK']);
      expect(await store.read((redis) => redis.get(`{${site}}:a`))).toBe('1');
    }
  });

  test('follows the slot when it moves back and forth, and executes no script partially', async () => {
    const site = 'moving';
    const store = patient(site);
    const managing = connected(connectManagementRedis, site);
    await untilReady(managing, TAKEOVER_MS);
    const management = new Store(managing, { absentKey: keysOf(site).absent });
    const slot = await cluster.slotOf(`{${site}}:`);
    const from = await cluster.primaryOf(slot);
    const others = await Promise.all(['home-1', 'home-2', 'home-3'].map(primaryOf));
    const to = others.find((program) => program !== from);
    if (to === undefined) throw new Error('there is no other primary');
    await store.write(['SET', `{${site}}:count`, '0'], ['SET', `{${site}}:changes`, '0']);
    const old = Array.from({ length: 400 }, (_, at) =>
      store.write(['SET', `{${site}}:old:${at}`, String(at)]),
    );
    await Promise.all(old);

    let sent = 0;
    let isOver = false;
    let unavailable = 0;
    /** Writes an existing key, and a new one that is not declared, as the scripts of the log do. */
    const write = async () => {
      while (!isOver) {
        sent++;
        await store.write(['INCR', `{${site}}:count`], ['SET', `{${site}}:entry:${sent}`, '']);
        await management
          .write(['INCR', `{${site}}:changes`], ['SET', `{${site}}:change:${sent}`, ''])
          .catch(() => unavailable++);
      }
    };
    const writing = write();
    await until(() => sent > 50, 'nothing was sent');
    for (const target of [to, from, to]) {
      const before = sent;
      await cluster.moveSlot(slot, target);
      await until(async () => (await portOf(store)) === target.port, 'it does not go along');
      await until(() => sent > before + 50, 'nothing was sent afterwards');
    }
    isOver = true;
    await writing;

    const count = async (pattern: string) => {
      const found = await to.redis.keys(`{${site}}:${pattern}`);
      return found.length;
    };
    const read = (name: string) => store.read((redis) => redis.get(`{${site}}:${name}`));
    expect(await read('count')).toBe(String(sent));
    expect(await count('entry:*')).toBe(sent);
    // A failed change is not there at all.
    expect(await count('change:*')).toBe(sent - unavailable);
    expect(await read('changes')).toBe(String(sent - unavailable));
    expect(await count('old:*')).toBe(400);
    await cluster.untilWhole();
  });

  test('takes, renews and releases its lease when the memory of the primary is full', async () => {
    const site = 'full';
    const redis = connected(connectManagementRedis, site);
    await untilReady(redis, TAKEOVER_MS);
    const primary = await primaryOf(site);
    await primary.redis.config('SET', 'maxmemory', 1);
    onTestFinished(async () => void (await primary.redis.config('SET', 'maxmemory', 0)));
    await expect(redis.set(`{${site}}:a`, '1')).rejects.toThrow('OOM');

    const key = keysOf(site).lease;
    const clock = { lengthMs: 60_000, elapsed: () => performance.now() };
    const lease = new Lease({ store: new Store(redis), key, holder: 'first', place: '', ...clock });
    expect((await lease.take()).isOurs).toBe(true);
    expect((await lease.renew(1)).isOurs).toBe(true);
    await lease.release(1);
    expect(await redis.hget(key, 'holder')).toBe('');
  });

  // Last: it leaves the cluster with a frozen primary.
  test('continues at the replica when the primary is frozen', async () => {
    const site = 'taken-over';
    const redis = connected(connectRedis, site);
    const store = new Store(redis, { isPatient: true });
    await store.write(['SET', `{${site}}:before`, '1']);
    await redis.wait(1, 5_000);
    const former = await primaryOf(site);
    former.freeze();
    expect(await store.write(['SET', `{${site}}:during`, '1'])).toEqual(['OK']);
    expect(await store.read((reader) => reader.get(`{${site}}:before`))).toBe('1');
    expect(await portOf(store)).not.toBe(former.port);
  });
});
