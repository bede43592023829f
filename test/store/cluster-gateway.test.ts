import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { becomesReady, Columns, Sensor } from '../chaos/faults.js';
import { GatewayHere } from '../harness/gateway-here.js';
import { Home } from '../harness/home.js';
import { RedisCluster } from '../harness/redis-cluster.js';
import type { RedisProgram } from '../harness/redis-program.js';
import { until } from '../harness/until.js';

/** A takeover in this cluster, and a second for the gateway. */
const TAKEOVER_MS = 10_000;
const SITES = ['home-1', 'home-2', 'home-3'];

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
});
afterAll(() => cluster.remove());

async function homeOfCluster(site: string): Promise<Home> {
  const gateway = await GatewayHere.create();
  await gateway.configure({ site, redis: cluster.settings });
  onTestFinished(() => gateway.remove());
  await gateway.start();
  return Home.at(gateway);
}

async function primaryOf(site: string): Promise<RedisProgram> {
  return cluster.primaryOf(await cluster.slotOf(`{${site}}:`));
}

describe('a gateway on a cluster', () => {
  it('keeps all of a site in one slot, and another site in another, over a restart', async () => {
    const homes = await Promise.all(SITES.map(homeOfCluster));
    for (const home of homes) {
      const columns = await Columns.of(home);
      columns.alarm();
      await columns.loseNothing();
      await home.device('Bett 9');
    }
    const keys = await Promise.all(cluster.nodes.map(({ redis }) => redis.keys('*')));
    const names = new Set(keys.flat());
    expect([...names].filter((key) => !/^\{home-[123]\}:/.test(key))).toEqual([]);
    for (const [at, home] of homes.entries()) {
      await home.gateway.stop();
      await home.gateway.start();
      const columns = await Columns.of(home);
      columns.alarm();
      await columns.loseNothing();
      expect([at, home.gateway.lines.join('\n').includes('failed to reach')]).toEqual([at, false]);
    }
  });

  it('goes on at the replica when the primary of its slot is killed while alarms flow', async () => {
    const site = 'killed';
    const home = await homeOfCluster(site);
    const columns = await Columns.of(home);
    columns.alarm();
    await columns.loseNothing();
    const former = await primaryOf(site);
    expect(await former.redis.wait(1, 5_000)).toBe(1);
    await former.kill();
    onTestFinished(async () => {
      await former.start();
      await cluster.untilWhole();
    });
    const since = performance.now();
    for (let round = 0; round < 5; round++) await columns.see();
    await columns.loseNothing();
    expect(performance.now() - since).toBeLessThan(TAKEOVER_MS);
    await becomesReady(home);
  });

  it('loses nothing, and keeps the order, when its slot moves there and back while alarms flow', async () => {
    const site = 'moving';
    const home = await homeOfCluster(site);
    const columns = await Columns.of(home);
    const device = await home.device();
    const sensor = await Sensor.connect(home, device);
    const timer = setInterval(() => sensor.alarm(), 10);
    onTestFinished(() => clearInterval(timer));
    await until(() => sensor.acknowledged.length > 50, 'nothing is acknowledged');
    const slot = await cluster.slotOf(`{${site}}:`);
    const from = await cluster.primaryOf(slot);
    const others = await Promise.all([...SITES, 'killed'].map(primaryOf));
    const to = others.find((program) => program !== from);
    if (to === undefined) throw new Error('there is no other primary');
    for (const target of [to, from]) {
      await cluster.moveSlot(slot, target);
      columns.alarm();
      const before = sensor.acknowledged.length;
      await until(() => sensor.acknowledged.length > before + 50, 'nothing is acknowledged');
      expect((await home.api.setCustomData(device, '{"changed":true}')).status).toBe(200);
    }
    clearInterval(timer);
    await sensor.allAcknowledged();
    await columns.loseNothing();
    const history = await home.api.allAlarms(device, '?limit=100&order=asc');
    expect(history.map(({ id }) => id)).toEqual(sensor.sent);
    for (const watcher of columns.watchers) await watcher.seesStored(sensor);
  });

  it('says that nothing can be stored while its slot is on its way, and stores all of it then', async () => {
    const site = 'long-moving';
    const home = await homeOfCluster(site);
    const columns = await Columns.of(home);
    const slot = await cluster.slotOf(`{${site}}:`);
    const from = await cluster.primaryOf(slot);
    const others = await Promise.all([...SITES, 'killed'].map(primaryOf));
    const to = others.find((program) => program !== from);
    if (to === undefined) throw new Error('there is no other primary');
    const [fromId, toId] = await Promise.all([from, to].map(({ redis }) => redis.cluster('MYID')));
    await to.redis.call('cluster', 'setslot', slot, 'importing', String(fromId));
    await from.redis.call('cluster', 'setslot', slot, 'migrating', String(toId));
    await columns.seeLive();
    for (const watcher of columns.watchers) await watcher.seesFault(/refuses to write .TRYAGAIN/);
    await columns.areServed();
    await cluster.moveSlot(slot, to);
    await columns.loseNothing();
    await becomesReady(home);
  });

  it('starts when the memory of the primary is full, forwards alarms live, and stores them then', async () => {
    const site = 'full';
    const home = await homeOfCluster(site);
    const device = await home.device();
    const { redis } = await primaryOf(site);
    await home.gateway.stop();
    await redis.config('SET', 'maxmemory', 1);
    onTestFinished(async () => void (await redis.config('SET', 'maxmemory', 0)));
    await home.gateway.start();
    const nurse = await home.nurse(device, 'alarms/#');
    const sensor = await Sensor.connect(home, device);
    sensor.alarm();
    await nurse.untilCount(1);
    expect(sensor.acknowledged).toEqual([]);

    await redis.config('SET', 'maxmemory', 0);
    await sensor.allAcknowledged();
    const history = await home.api.allAlarms(device);
    expect(history.map(({ id }) => id)).toEqual(sensor.sent);
    await nurse.end();
  });
});
