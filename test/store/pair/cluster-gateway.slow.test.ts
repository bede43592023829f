import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { becomesReady, Columns, Sensor } from '../../chaos/faults/faults.js';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { Home } from '../../former/home.js';
import { RedisCluster } from '../../former/servers/redis-cluster.js';
import type { RedisProgram } from '../../former/servers/redis-program.js';
import { SteadySensor } from '../../pair/steady-sensor.js';

/** Homes spread over all primaries. */
const SITES = ['home-1', 'home-2', 'home-3', 'home-4'];
const ALARMS = 3;

/** One of many homes, with its gateway, a sensor, and a nurse-call system with a durable session. */
interface Site {
  readonly home: Home;
  readonly nurse: Subscriber;
  readonly sensor: SteadySensor;
  readonly slot: number;
}

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
});
afterAll(() => cluster.remove());

async function homeOfCluster(site: string, settings: object = {}): Promise<Home> {
  const gateway = await GatewayHere.create();
  await gateway.configure({ site, redis: { ...cluster.settings, ...settings } });
  onTestFinished(() => gateway.remove());
  await gateway.start();
  return Home.at(gateway);
}

async function primaryOf(site: string): Promise<RedisProgram> {
  return cluster.primaryOf(await cluster.slotOf(`{${site}}:`));
}

describe('a gateway on a cluster', () => {
  it('keeps all of a site in one slot, and another site in another, across a restart', async () => {
    const homes = await Promise.all(['one', 'other'].map((site) => homeOfCluster(site)));
    for (const home of homes) {
      const columns = await Columns.of(home);
      columns.alarm();
      await columns.loseNothing();
      await home.device('Bett 9');
    }
    const keys = await Promise.all(cluster.nodes.map(({ redis }) => redis.keys('*')));
    const names = new Set(keys.flat());
    expect([...names].filter((key) => !/^\{(one|other)\}:/.test(key))).toEqual([]);
    for (const [at, home] of homes.entries()) {
      await home.gateway.stop();
      await home.gateway.start();
      const columns = await Columns.of(home);
      columns.alarm();
      await columns.loseNothing();
      expect([at, home.gateway.lines.join('\n').includes('failed to reach')]).toEqual([at, false]);
    }
  });

  it('reports that nothing can be stored while its slot is moving, and stores everything afterwards', async () => {
    const site = 'long-moving';
    const home = await homeOfCluster(site);
    const columns = await Columns.of(home);
    const slot = await cluster.slotOf(`{${site}}:`);
    const from = await cluster.primaryOf(slot);
    const others = await Promise.all(SITES.map(primaryOf));
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

  it('starts when the memory of the primary is full, forwards alarms live, and stores them later', async () => {
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

  // Last: it leaves the cluster without one of its primaries.
  it('loses no alarm of many homes when slots move and a primary is killed while alarms flow', async () => {
    const sites = await Promise.all(SITES.map(startSite));
    for (const { home } of sites) await becomesReady(home);
    await untilAllGetMore(sites);
    const primaries = await Promise.all(sites.map(({ slot }) => cluster.primaryOf(slot)));
    const [killed, left, entered] = [...new Set(primaries)];
    if (killed === undefined || left === undefined || entered === undefined) {
      throw new Error('the homes are not spread over all primaries');
    }
    await killed.kill();
    await moveHomes(sites, left, entered);
    await cluster.untilTakenOver(killed);
    await untilAllGetMore(sites);
    for (const { slot } of sites) expect(await cluster.primaryOf(slot)).not.toBe(left);

    await Promise.all(sites.map(({ sensor }) => sensor.finish()));
    for (const site of sites) {
      const { sensor } = site;
      await site.nurse.until(() => deliveredTo(site).length >= sensor.sent.length);
      expect(deliveredTo(site)).toEqual(sensor.sent);
      const history = await site.home.api.allAlarms(sensor.device, '?order=asc&limit=100');
      expect(history.map(({ id }) => id).toSorted()).toEqual(sensor.sent.toSorted());
    }
  });
});

async function startSite(site: string): Promise<Site> {
  const home = await homeOfCluster(site, { replicas: 1 });
  const device = await home.device();
  const session = { clientId: 'nurse', clean: false };
  const nurse = await Subscriber.connect(home.gateway, home.viewer, session);
  await nurse.subscribe(home.filter(device, 'alarms/#'));
  const sensor = await SteadySensor.start(home.gateway, device);
  onTestFinished(async () => {
    await sensor.end();
    await nurse.client.endAsync(true);
  });
  return { home, nurse, sensor, slot: await cluster.slotOf(`{${site}}:`) };
}

async function untilAllGetMore(sites: readonly Site[]): Promise<void> {
  await Promise.all(sites.map(({ sensor }) => sensor.untilMoreAcknowledged(ALARMS)));
}

/** Moves the slot of every home on one primary to another; alarms come while half of its keys have moved. */
async function moveHomes(
  sites: readonly Site[],
  from: RedisProgram,
  to: RedisProgram,
): Promise<void> {
  await Promise.all(
    sites.map(async ({ slot, sensor }) => {
      if ((await cluster.primaryOf(slot)) !== from) return;
      await cluster.moveSlot(slot, to, () => sensor.untilMoreSent(2));
    }),
  );
}

/** The ids of stored and delivered alarms, each once, in the order of delivery; live copies have QoS 0. */
function deliveredTo({ nurse }: Site): unknown[] {
  const stored = nurse.received.filter(({ qos }) => qos === 1);
  return [...new Set(stored.map(({ text }) => JSON.parse(text).id))];
}
