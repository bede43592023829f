import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { becomesReady, saysReady } from '../../chaos/faults/faults.js';
import { connectDevice, Subscriber } from '../../former/clients/mqtt-clients.js';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { Home } from '../../former/home.js';
import { RedisPair } from '../../former/servers/redis-pair.js';
import { startReplica, startServer } from './replica-world.js';

const ALONE = 'No replica confirms what is stored: new alarms are on one machine only.';
const REFUSAL = 'No replica confirms what is stored: nothing is acknowledged.';
/** Enough time to judge the held writes twice more. */
const HELD_MS = 600;

/** A home in a built gateway whose store has one replica. */
async function homeOn(redis: object): Promise<Home> {
  const gateway = await GatewayHere.create();
  onTestFinished(() => gateway.remove());
  await gateway.configure({ redis: { replicas: 1, ...redis } });
  await gateway.start();
  return Home.at(gateway);
}

async function homeWithReplica(withoutReplica: 'continue' | 'refuse') {
  const primary = await startServer();
  const replica = await startReplica(primary);
  const url = `redis://127.0.0.1:${primary.port}`;
  return { home: await homeOn({ url, withoutReplica }), primary, replica };
}

/** The names of what has been acknowledged so far. */
function watch(acknowledgements: Record<string, Promise<unknown>>): string[] {
  const done: string[] = [];
  for (const [name, promise] of Object.entries(acknowledgements)) {
    promise.then(
      () => done.push(name),
      () => undefined,
    );
  }
  return done;
}

async function seesFault(status: Subscriber, fault: string): Promise<void> {
  await status.until((all) => all.some(({ text }) => text.includes(fault)));
}

describe('redis.replicas', () => {
  test('holds back PUBACK, SUBACK and 2xx while the replica is frozen, and forwards alarms live', async () => {
    const { home, replica } = await homeWithReplica('refuse');
    const device = await home.device();
    const sensor = await connectDevice(home.gateway, device);
    const nurse = await home.nurse(device, 'alarms/#');
    const late = await Subscriber.connect(home.gateway, home.viewer, {
      clientId: 'durable',
      clean: false,
    });
    replica.freeze();

    const alarm = JSON.stringify({ kind: 'fall' });
    const acknowledgements = {
      puback: sensor.publishAsync(`devices/${device.id}/alarms`, alarm, { qos: 1 }),
      suback: late.subscribe(home.filter(device)),
    };
    const done = watch(acknowledgements);
    const created = await home.api.request('POST', '/care-homes', JSON.stringify({ name: 'New' }));

    expect(created.status).toBe(503);
    expect(await created.json()).toMatchObject({ code: 'store-unavailable', detail: REFUSAL });
    await nurse.untilCount(1);
    expect(nurse.received[0]).toMatchObject({ qos: 0 });
    await delay(HELD_MS);
    expect(done).toEqual([]);
    expect((await home.api.request('GET', '/readyz')).status).toBe(503);
    expect(await saysReady(home)).toContain(REFUSAL);
    replica.thaw();
    await Promise.all(Object.values(acknowledgements));
    await nurse.until((all) => all.some(({ qos }) => qos === 1));
    await becomesReady(home);
    await home.api.createLocation();
  });

  test('continues alone after the timeout with a fault, which clears automatically', async () => {
    const { home, primary, replica } = await homeWithReplica('continue');
    const device = await home.device();
    const sensor = await connectDevice(home.gateway, device);
    const status = await Subscriber.connect(home.gateway, home.viewer);
    await status.subscribe('gateway/status');
    const publish = (kind: string) =>
      sensor.publishAsync(`devices/${device.id}/alarms`, JSON.stringify({ kind }), { qos: 1 });
    replica.freeze();

    await publish('fall');
    await home.api.createLocation();
    await (await Subscriber.connect(home.gateway, home.viewer)).subscribe(home.filter(device));

    await eventually(async () => expect(await saysReady(home)).toContain(ALONE));
    await eventually(async () =>
      expect((await home.api.request('GET', '/readyz')).status).toBe(200),
    );
    await seesFault(status, ALONE);
    replica.thaw();
    await becomesReady(home);
    await publish('fall');
    const length = await primary.redis.xlen('{site}:history');
    expect(await replica.redis.xlen('{site}:history')).toBe(length);
    expect(length).toBe(2);
  });

  test('leaves everything acknowledged on a replica when the primary is killed', async () => {
    const { home, primary, replica } = await homeWithReplica('refuse');
    const device = await home.device();
    const sensor = await connectDevice(home.gateway, device, { reconnectPeriod: 0 });
    let acknowledged = 0;
    const publishing = Array.from({ length: 500 }, (_, at) =>
      sensor
        .publishAsync(`devices/${device.id}/alarms`, JSON.stringify({ kind: 'fall', at }), {
          qos: 1,
        })
        .then(() => acknowledged++),
    );
    watch(Object.fromEntries(publishing.entries()));
    await eventually(() => expect(acknowledged).toBeGreaterThan(50));

    await primary.kill();

    expect(await replica.redis.xlen('{site}:history')).toBeGreaterThanOrEqual(acknowledged);
  });
});

describe('a gateway whose store is cut off from most Sentinels', () => {
  test('acknowledges nothing without a replica, and continues alone once they are back', async () => {
    const pair = await RedisPair.start();
    onTestFinished(() => pair.remove());
    const home = await homeOn(pair.settings);
    const device = await home.device();
    const sensor = await connectDevice(home.gateway, device);
    const [, second, third] = pair.sentinelPrograms;
    const replica = await pair.replica();
    for (const program of [replica, second, third]) program?.freeze();

    const puback = sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', {
      qos: 1,
    });
    const done = watch({ puback });

    await eventually(async () => expect(await saysReady(home)).toContain('most Sentinels cannot'));
    await delay(HELD_MS);
    expect(done).toEqual([]);
    third?.thaw();
    await puback;
    await eventually(async () => expect(await saysReady(home)).toContain(ALONE));
    replica.thaw();
    await becomesReady(home);
  });
});
