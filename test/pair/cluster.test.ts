/** Many homes in a Redis Cluster from config/many-homes: each home is in one slot, which moves and changes its primary. */
import { afterAll, beforeAll } from 'vitest';
import { eventually, expect, type Home, NO_LIMITS, type Own, test } from '../harness/index.js';
import type { RedisProgram } from '../harness/redis.js';
import { RedisCluster } from './redis-cluster.js';

/** Homes spread over all primaries. */
const SITES = ['home-1', 'home-2', 'home-3', 'home-4'];

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
});
afterAll(() => cluster?.remove());

function homeOf(own: Own, site: string, settings: object = {}): Promise<Home> {
  return own.home({
    env: NO_LIMITS,
    config: { site, redis: { ...cluster.settings, ...settings } },
  });
}

async function primaryOf(site: string): Promise<RedisProgram> {
  return cluster.primaryOf(await cluster.slotOf(`{${site}}:`));
}

/** A primary that is none of the given. */
async function otherPrimary(...without: (RedisProgram | undefined)[]): Promise<RedisProgram> {
  const all = await Promise.all(SITES.map(primaryOf));
  const other = all.find((program) => !without.includes(program));
  if (other === undefined) throw new Error('the homes are not spread over all primaries');
  return other;
}

test('keeps all of a home in one slot, and another home in another, across a restart', async ({
  own,
}) => {
  const homes = await Promise.all(['one', 'other'].map((site) => homeOf(own, site)));
  for (const home of homes) {
    const nurse = await home.nurse({ isDurable: true });
    await (await home.sensor()).raise(3);
    await home.settled();
    await nurse.leave();
    await home.gateway.restart();
    await (await home.sensor()).raise(3);
    await nurse.connect();
    await home.settled({ mayRepeat: true });
    expect(home.gateway.lines.join()).not.toContain('failed to reach');
  }
  const keys = await Promise.all(cluster.nodes.map(({ redis }) => redis.keys('*')));
  expect(keys.flat().filter((key) => !/^\{(one|other)\}:/.test(key))).toEqual([]);
});

test('says that nothing can be stored while a slot is half moved, and stores everything afterwards', async ({
  own,
}) => {
  const site = 'long-moving';
  const home = await homeOf(own, site);
  const [sensor, live] = [await home.sensor(), await home.nurse()];
  await sensor.raise(1);
  const slot = await cluster.slotOf(`{${site}}:`);
  const from = await cluster.primaryOf(slot);
  const to = await otherPrimary(from);
  const [fromId, toId] = await Promise.all([from, to].map(({ redis }) => redis.cluster('MYID')));
  await to.redis.call('cluster', 'setslot', slot, 'importing', String(fromId));
  await from.redis.call('cluster', 'setslot', slot, 'migrating', String(toId));
  const alarm = sensor.alarm();
  await live.until(alarm);
  expect(alarm.isAcknowledged).toBe(false);
  await eventually(async () =>
    expect((await home.faults()).join()).toMatch(/refuses to write .(TRYAGAIN|ASK)/),
  );
  await cluster.moveSlot(slot, to);
  await home.settled();
  await eventually(async () =>
    expect((await home.faults()).join()).not.toContain('refuses to write'),
  );
});

test('starts while the memory of the primary is full, forwards alarms live, and stores them later', async ({
  own,
}) => {
  const home = await homeOf(own, 'full');
  const device = await home.device();
  const { redis } = await primaryOf('full');
  await home.gateway.stop();
  await redis.config('SET', 'maxmemory', 1);
  own.onEnd(() => redis.config('SET', 'maxmemory', 0));
  await home.gateway.start();
  const [live, sensor] = [await home.nurse(), await home.sensor({ device })];
  const alarm = sensor.alarm();
  await live.until(alarm);
  expect(alarm.isAcknowledged).toBe(false);
  await redis.config('SET', 'maxmemory', 0);
  await home.settled();
});

// The last of the file: it leaves the cluster without one of its primaries.
test('loses no alarm of many homes when slots move and a primary is killed', {
  timeout: 120_000,
}, async ({ own }) => {
  const homes = await Promise.all(SITES.map((site) => homeOf(own, site, { replicas: 1 })));
  const slots = await Promise.all(SITES.map((site) => cluster.slotOf(`{${site}}:`)));
  const sensors = await Promise.all(homes.map((home) => home.sensor()));
  for (const home of homes) await home.nurse({ isDurable: true });
  let isOver = false;
  const flows = sensors.map(async (sensor) => {
    while (!isOver) await sensor.raise(2);
  });
  const allGetMore = async () => {
    const before = sensors.map(({ alarms }) => alarms);
    await eventually(() => {
      for (const [at, { alarms }] of sensors.entries())
        expect(alarms).toBeGreaterThan((before[at] ?? 0) + 5);
    }, 60_000);
  };
  await allGetMore();
  const killed = await primaryOf('home-1');
  const left = await otherPrimary(killed);
  const entered = await otherPrimary(killed, left);
  await killed.kill();
  for (const slot of slots) {
    // Alarms come while half of its keys have moved.
    if ((await cluster.primaryOf(slot)) === left) await cluster.moveSlot(slot, entered);
  }
  await cluster.untilTakenOver(killed);
  await allGetMore();
  isOver = true;
  await Promise.all(flows);
  for (const slot of slots) expect(await cluster.primaryOf(slot)).not.toBe(left);
  for (const home of homes) await home.settled({ mayRepeat: true, lost: 4 });
});
