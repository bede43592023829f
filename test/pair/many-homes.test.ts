import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayHere } from '../harness/gateway-here.js';
import { Home } from '../harness/home.js';
import { Subscriber } from '../harness/mqtt-clients.js';
import { RedisCluster } from '../harness/redis-cluster.js';
import type { RedisProgram } from '../harness/redis-program.js';
import { SteadySensor } from './steady-sensor.js';

const SITES = 20;
/** More at once would make each other wait for the processor until they time out. */
const STARTED_AT_ONCE = 5;
const ALARMS = 3;

/** One of many homes, with its gateway, a sensor, and a nurse-call system whose session is durable. */
interface Site {
  readonly home: Home;
  readonly nurse: Subscriber;
  readonly sensor: SteadySensor;
  readonly slot: number;
}

describe('20 homes on one cluster', () => {
  let cluster: RedisCluster;
  const sites: Site[] = [];
  beforeAll(async () => {
    cluster = await RedisCluster.start();
    for (let at = 0; at < SITES; at += STARTED_AT_ONCE) {
      const names = Array.from({ length: STARTED_AT_ONCE }, (_, index) => `home-${at + index}`);
      sites.push(...(await Promise.all(names.map((name) => startSite(cluster, name)))));
    }
  }, 120_000);
  afterAll(async () => {
    await Promise.all(sites.map(endSite));
    await cluster?.remove();
  });

  it('find no fault with the nodes', async () => {
    const ready = await fetch(`${sites[0]?.home.gateway.httpUrl}/readyz`);
    expect(await ready.json()).toEqual({ ready: true, faults: [] });
  });

  it('lose no alarm when slots move and a primary is killed while alarms flow', async () => {
    await untilAllGetMore(sites);
    const primaries = await Promise.all(sites.map(({ slot }) => cluster.primaryOf(slot)));
    const [killed, left, entered] = [...new Set(primaries)];
    if (killed === undefined || left === undefined || entered === undefined) {
      throw new Error('the homes are not spread over all primaries');
    }
    await killed.kill();
    await moveHomes(cluster, sites, left, entered);
    await cluster.untilTakenOver(killed);
    await untilAllGetMore(sites);
    await killed.start();
    await cluster.untilWhole();
    expect(await homesOn(cluster, sites, left)).toBe(0);

    await Promise.all(sites.map(({ sensor }) => sensor.finish()));
    for (const site of sites) {
      const { sensor } = site;
      await site.nurse.until(() => deliveredTo(site).length >= sensor.sent.length);
      expect(deliveredTo(site)).toEqual(sensor.sent);
      const history = await site.home.api.allAlarms(sensor.device, '?order=asc&limit=100');
      expect(history.map(({ id }) => id).toSorted()).toEqual(sensor.sent.toSorted());
    }
  }, 60_000);
});

async function startSite(cluster: RedisCluster, site: string): Promise<Site> {
  const gateway = await GatewayHere.create();
  await gateway.configure({ site, redis: { ...cluster.settings, replicas: 1 } });
  await gateway.start();
  const home = await Home.at(gateway);
  const device = await home.device();
  const session = { clientId: 'nurse', clean: false };
  const nurse = await Subscriber.connect(gateway, home.viewer, session);
  await nurse.subscribe(home.filter(device, 'alarms/#'));
  const sensor = await SteadySensor.start(gateway, device);
  return { home, nurse, sensor, slot: await cluster.slotOf(`{${site}}:`) };
}

async function endSite({ home, nurse, sensor }: Site): Promise<void> {
  await sensor.end();
  await nurse.client.endAsync(true);
  await home.remove();
}

async function untilAllGetMore(sites: readonly Site[]): Promise<void> {
  await Promise.all(sites.map(({ sensor }) => sensor.untilMoreAcknowledged(ALARMS)));
}

/** Moves the slot of every home that is on one primary to another, alarms coming while half its keys are gone. */
async function moveHomes(
  cluster: RedisCluster,
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

async function homesOn(
  cluster: RedisCluster,
  sites: readonly Site[],
  program: RedisProgram,
): Promise<number> {
  const primaries = await Promise.all(sites.map(({ slot }) => cluster.primaryOf(slot)));
  return primaries.filter((primary) => primary === program).length;
}

/** The ids of what was stored and delivered, each once, in the order of delivery; live copies are QoS 0. */
function deliveredTo({ nurse }: Site): unknown[] {
  const stored = nurse.received.filter(({ qos }) => qos === 1);
  return [...new Set(stored.map(({ text }) => JSON.parse(text).id))];
}
