import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import { connectDevice, Subscriber } from '../../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import type { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { NO_LIMITS } from '../../former/no-limits.js';
import { Store } from '../../former/stored/store.js';
import { becomesReady, saysReady } from './faults.js';
import { OwnRedis } from './own-redis.js';

const MIB = 1024 * 1024;
const MAX_BYTES = 32 * MIB;
const PADDING = 'x'.repeat(12_000);
const MESSAGE_COUNTER = '{site}:sequence:messages';
const DUMP = JSON.stringify('x'.repeat(200_000));
/** The last part of the store, which the test fills with alarms before it checks. */
const FILLED_BY_ALARMS = 0.02;
const FILLER = 'x'.repeat(100_000);
/** From each of four connections: 80 MB in all, into a store of 32 MiB. */
const FLOOD_DUMPS = 100;

/** Clean-ups, run in reverse order. */
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function homeOf(environment: Record<string, string>): Promise<Home<GatewayProcess>> {
  const home = await Home.startProcess(environment);
  cleanups.push(() => home.remove());
  return home;
}

function alarmText(id: string = randomUUID(), padding = PADDING): string {
  return JSON.stringify({ kind: 'fall', id, padding });
}

/** Creates an absent session, subscribed to everything in the home. */
async function absentNurse(
  home: Home<GatewayProcess>,
): Promise<{ clientId: string; clean: false }> {
  const session = { clientId: 'absent', clean: false } as const;
  const nurse = await Subscriber.connect(home.gateway, home.viewer, session);
  await nurse.subscribe(`care-homes/${home.locationId}/#`);
  await nurse.end();
  return session;
}

async function notStored(home: Home<GatewayProcess>): Promise<Record<string, number>> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  const counts = text.matchAll(/^gateway_not_stored_total\{kind="([^"]+)"\} (\d+)$/gm);
  return Object.fromEntries(Array.from(counts, ([, kind, count]) => [kind, Number(count)]));
}

/** The used part, as the store itself reports it now. */
async function storedPart({ redis }: Store): Promise<number> {
  const text = await redis.info('memory');
  const field = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1]);
  return (field('used_memory') - field('mem_not_counted_for_evict')) / field('maxmemory');
}

/** The number of the message stored last. */
function newestMessage({ redis }: Store): Promise<string | null> {
  return redis.get(MESSAGE_COUNTER);
}

/** A device that floods the history with large alarms, each acknowledged before the next. */
async function flooder(home: Home<GatewayProcess>, store: Store) {
  const device = await home.device('Flut');
  const sensor = await connectDevice(home.gateway, device);
  cleanups.push(() => sensor.endAsync(true));
  const acknowledged: string[] = [];
  const fillTo = async (part: number) => {
    // As if filled long ago; the last part is alarms.
    while ((await storedPart(store)) < part - FILLED_BY_ALARMS) {
      await store.redis.set(`filler:${randomUUID()}`, FILLER);
    }
    while ((await storedPart(store)) < part) {
      for (let count = 0; count < 5; count++) {
        const id = randomUUID();
        await sensor.publishAsync(`devices/${device.id}/alarms`, alarmText(id), { qos: 1 });
        acknowledged.push(id);
      }
    }
  };
  return { device, acknowledged, fillTo };
}

/** A connection that sends large values as fast as the gateway reads them. */
async function flood(
  home: Home<GatewayProcess>,
  device: TestDevice,
  clientId: string,
): Promise<RawClient> {
  const camera = await RawClient.connect(home.gateway, device, { clientId });
  for (let messageId = 1; messageId <= FLOOD_DUMPS; messageId++) {
    const packet = publishPacket(`devices/${device.id}/dump`, DUMP);
    camera.send({ ...packet, qos: 1, messageId });
  }
  return camera;
}

function acknowledgedOf({ packets }: RawClient): number {
  return packets.filter(({ cmd }) => cmd === 'puback').length;
}

async function historyOf(home: Home<GatewayProcess>, device: TestDevice): Promise<unknown[]> {
  const alarms = await home.api.allAlarms(device, '?limit=100&order=asc');
  return alarms.map(({ id }) => id);
}

describe('guarantee 7: a store whose memory fills up', () => {
  it('reports it, reserves the last part for alarms, and loses none when that is full, too', async () => {
    const home = await homeOf({ GATEWAY_REDIS_MAX_MEMORY_BYTES: String(MAX_BYTES) });
    const store = await Store.of(home.gateway);
    cleanups.push(() => store.close());
    expect(await store.redis.config('GET', 'maxmemory')).toEqual(['maxmemory', String(MAX_BYTES)]);
    const session = await absentNurse(home);
    const honest = await home.device();
    const live = await home.nurse(honest, '#');
    const { device, acknowledged, fillTo } = await flooder(home, store);

    // Nothing is denied yet, but `/readyz` warns.
    await fillTo(0.81);
    await eventually(async () =>
      expect(await saysReady(home)).toMatch(/memory is 8\d % full; from 90 % on only alarms/),
    );
    expect((await home.api.request('GET', '/readyz')).status).toBe(200);

    await fillTo(0.92);
    await eventually(async () =>
      expect(await saysReady(home)).toMatch(/memory is 9\d % full, and only alarms are stored/),
    );
    const newest = await newestMessage(store);
    const bed = await RawClient.connect(home.gateway, honest);
    await bed.publish(`devices/${honest.id}/value`, '21', 1, 1);
    await live.until((all) => all.some(({ topic }) => topic.endsWith('/value')));
    bed.send({
      ...publishPacket(`devices/${honest.id}/level`, '5'),
      qos: 1,
      messageId: 2,
      retain: true,
    });
    await bed.publish(`devices/${honest.id}/alarms`, 'no alarm', 1, 3);
    expect(await newestMessage(store)).toBe(newest);
    expect(await notStored(home)).toMatchObject({ retained: 1, invalid_publish: 1 });
    const refused = await home.api.request('POST', '/care-homes', '{"name":"more"}');
    expect(refused.status).toBe(503);
    expect((await home.api.request('GET', '/readyz')).status).toBe(200);
    await bed.publish(`devices/${honest.id}/alarms`, alarmText(randomUUID(), ''), 1, 4);

    // Alarms are stored until nothing fits; then they are live, and not acknowledged. One at a time, because many
    // together fill the store while it reads them, and are not in it afterwards.
    await fillTo(0.975);
    const late = await RawClient.connect(home.gateway, device);
    const ids: string[] = [];
    const isFull = async () => (await saysReady(home)).includes('and nothing is stored');
    do {
      ids.push(randomUUID());
      const packet = publishPacket(`devices/${device.id}/alarms`, alarmText(ids.at(-1)));
      late.send({ ...packet, qos: 1, messageId: ids.length });
      await eventually(async () => {
        expect(acknowledgedOf(late) === ids.length || (await isFull())).toBe(true);
      });
    } while (!(await isFull()));
    const fall = randomUUID();
    const packet = publishPacket(`devices/${honest.id}/alarms`, alarmText(fall, ''));
    bed.send({ ...packet, qos: 1, messageId: 5 });
    await live.until((all) => all.some(({ text }) => text.includes(fall)));
    expect(live.received.at(-1)?.qos).toBe(0);
    expect((await home.api.request('GET', '/readyz')).status).toBe(503);
    expect(await saysReady(home)).toMatch(/refuses to write \(OOM\)/);
    await bed.ping();
    expect(bed.packets.filter(({ cmd }) => cmd === 'puback')).toHaveLength(4);

    // The gateway recovers without help once there is room.
    await store.redis.config('SET', 'maxmemory', 4 * MAX_BYTES);
    await bed.next('puback');
    await late.until(
      (came) => came.filter(({ cmd }) => cmd === 'puback').length === ids.length,
      'not all acknowledged',
    );
    await becomesReady(home);
    expect(await historyOf(home, device)).toEqual([...acknowledged, ...ids]);

    // The bound also applies to a store that outlives its gateway.
    await home.gateway.kill();
    await home.gateway.start();
    expect(await store.redis.config('GET', 'maxmemory')).toEqual(['maxmemory', String(MAX_BYTES)]);
    const nurse = await Subscriber.connect(home.gateway, home.viewer, session);
    const count = acknowledged.length + ids.length + 2;
    const alarms = () => nurse.received.filter(({ topic }) => topic.includes('/alarms/')).length;
    await eventually(() => expect(alarms()).toBe(count));
    await Promise.all([nurse.end(), live.end()]);
    for (const client of [bed, late]) client.vanish();
  });

  it('accepts every alarm while telemetry for an absent session floods an external server', async () => {
    const redis = await OwnRedis.create();
    cleanups.push(() => redis.remove());
    await redis.start();
    await redis.redis.config('SET', 'maxmemory', MAX_BYTES);
    const home = await homeOf({ ...NO_LIMITS, GATEWAY_REDIS_URL: redis.url });
    const session = await absentNurse(home);
    const [loud, honest] = [await home.device('laut'), await home.device()];
    const bed = await connectDevice(home.gateway, honest);
    cleanups.push(() => bed.endAsync(true));
    const cameras = await Promise.all(['a', 'b', 'c', 'd'].map((id) => flood(home, loud, id)));
    const ids: string[] = [];
    while (cameras.some((camera) => acknowledgedOf(camera) < FLOOD_DUMPS)) {
      ids.push(randomUUID());
      const alarm = alarmText(ids.at(-1), '');
      await bed.publishAsync(`devices/${honest.id}/alarms`, alarm, { qos: 1 });
    }
    // A message reserves more than it takes: a fast flood leaves room, which the next reading finds.
    const [camera] = cameras;
    let messageId = FLOOD_DUMPS;
    await eventually(async () => {
      await camera?.publish(`devices/${loud.id}/dump`, DUMP, 1, ++messageId);
      expect(await saysReady(home)).toMatch(/memory is [89]\d % full/);
    });
    for (const one of cameras) one.vanish();
    expect((await notStored(home))['telemetry']).toBeGreaterThan(100);
    const nurse = await Subscriber.connect(home.gateway, home.viewer, session);
    const alarms = () => nurse.messages('/alarms/').map(({ id }) => id);
    await eventually(() => expect(alarms()).toEqual(ids));
    expect(await historyOf(home, honest)).toEqual(ids);
    await nurse.end();
  });
});
