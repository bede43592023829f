import type { IConnectPacket, Packet } from 'mqtt-packet';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { configSchema } from '../../src/config/schema.js';
import { Gateway } from '../../src/gateway.js';
import type { TestDevice, TestToken } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import type { GatewayProcess } from '../harness/gateway-process.js';
import { Home } from '../harness/home.js';
import { RawClient } from '../harness/raw-client.js';
import { Store } from '../harness/store.js';

/** Interval at which Aedes looks for unpublished wills. */
const SWEEP_MS = 240_000;
/** Interval at which Aedes says that it is alive. */
const HEARTBEAT_MS = 60_000;

let home: Home<GatewayProcess>;
let after: Gateway | undefined;
let place: Awaited<ReturnType<typeof startAgain>>;
/** What the location's subscriber, and the bed, have got when the wills left before the crash were published. */
let subscriber: RawClient;
let bedClient: RawClient;
let devices: Record<
  'back' | 'elsewhere' | 'gone' | 'half' | 'quick' | 'bed' | 'victim',
  TestDevice
>;

/** Leaves wills behind a crash, then starts a gateway that publishes them. */
beforeAll(async () => {
  home = await Home.startProcess();
  const { gateway, api, viewer, manager } = home;
  const [back, elsewhere, gone] = [await home.device(), await home.device(), await home.device()];
  const [half, quick, bed] = [await home.device(), await home.device(), await home.device()];
  const victim = await (await Home.at(gateway)).device();
  devices = { back, elsewhere, gone, half, quick, bed, victim };
  const leave = async (who: TestDevice | TestToken, clientId: string, left: Will) => {
    const client = await RawClient.connect(gateway, who, { clientId, will: left });
    await client.ping();
    return client;
  };
  for (const device of [back, elsewhere, gone]) await leave(device, device.id, will(device));
  const before = await leave(half, half.id, will(half));
  await leave(half, half.id, will(half));
  await before.closed();
  for (let round = 0; round < 5; round++) {
    const client = await leave(quick, quick.id, will(quick));
    client.send({ cmd: 'disconnect' });
    await client.closed();
  }
  await leave(quick, quick.id, will(quick, 'left in the end'));
  const [alarms, command] = [`devices/${victim.id}/alarms`, home.filter(bed, 'commands/stop')];
  await leave(viewer, 'forger', { topic: alarms, payload: '{"kind":"inactivity"}', qos: 1 });
  await leave(viewer, 'viewer', { topic: command, payload: 'by a viewer', qos: 1 });
  await leave(manager, 'back', { topic: command, payload: 'by one that is back', qos: 1 });
  await leave(manager, 'gone', { topic: command, payload: 'by a manager', qos: 1 });
  const admin = await api.createToken([{ location: '*', role: 'admin' }]);
  const store = await Store.of(gateway);
  // CONNECT does not wait until the will is stored.
  await eventually(async () => {
    expect(await store.keys('*will:*')).toHaveLength(9);
    const [key = ''] = await store.keys(`*will:*${quick.id}`);
    expect(await store.redis.get(key)).toContain('left in the end');
  });
  store.close();
  await gateway.kill();

  place = await startAgain();
  subscriber = await RawClient.connect(place, admin);
  await subscriber.subscribe(['care-homes/+/devices/+/gone', 'care-homes/+/devices/+/alarms/#']);
  bedClient = await RawClient.connect(place, bed);
  await bedClient.subscribe([`devices/${bed.id}/commands/#`]);
  const returned = await RawClient.connect(place, back, { clientId: back.id });
  const other = await RawClient.connect(place, elsewhere, { clientId: `${elsewhere.id}-2` });
  const returnedManager = await RawClient.connect(place, manager, { clientId: 'back' });
  place.sweep();
  await bedClient.next('publish');
  for (const device of [gone, half, quick]) {
    const isOf = (topic: string) => topic === home.filter(device, 'gone');
    await subscriber.until((all) => publishes(all).some((one) => isOf(one.topic)), 'no will');
  }
  // What is published now comes after all that the sweep passed on.
  const sensor = await RawClient.connect(place, victim);
  await sensor.publish(alarms, '{"kind":"fall"}', 1);
  await returned.publish(`devices/${back.id}/gone`, '"last"', 1);
  await returnedManager.publish(command, 'last', 1);
  const isLast = (all: readonly Packet[]) =>
    publishes(all).some(({ payload }) => payload.toString().includes('last'));
  await Promise.all([subscriber, bedClient].map((one) => one.until(isLast, 'no last message')));
  for (const client of [subscriber, bedClient, returned, other]) client.vanish();
  for (const client of [returnedManager, sensor]) client.vanish();
});

afterAll(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await after?.stop();
  await home.remove();
});

/** The built gateway in this process, so that the test can move the clock. */
async function startAgain(): Promise<{ mqttPort: number; lines: string[]; sweep: () => void }> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const intervals = vi.spyOn(globalThis, 'setInterval');
  const lines: string[] = [];
  const { dataDir } = home.gateway;
  after = new Gateway({
    config: configSchema.parse({ dataDir, mqtt: { port: 0 }, http: { port: 0 } }),
    log: pino({ level: 'info' }, { write: (line: string) => lines.push(line) }),
    version: '0',
    consoleDirectory: 'dist/console',
    searchPath: process.env['PATH'],
    maxOpenFiles: 1_000,
    now: Date.now,
    elapsed: () => performance.now(),
  });
  const { mqtt } = await after.start();
  const [sweep] = intervals.mock.calls.find(([, ms]) => ms === SWEEP_MS) ?? [];
  if (sweep === undefined) throw new Error('Aedes does not look for wills');
  return { mqttPort: mqtt.port, lines, sweep };
}

type Will = NonNullable<IConnectPacket['will']>;

function will(device: TestDevice, text = 'left'): Will {
  const payload = Buffer.from(`"${text}"`);
  return { topic: `devices/${device.id}/gone`, payload, qos: 1, retain: false };
}

function publishes(packets: readonly Packet[]) {
  return packets.flatMap((packet) => (packet.cmd === 'publish' ? [packet] : []));
}

/** Topics of the messages of the topic's last level that the subscriber has got, in order. */
function topicsTo(level: string): string[] {
  const topics = publishes(subscriber.packets).map(({ topic }) => topic);
  return topics.filter((topic) => topic.split('/')[4] === level);
}

it('fault 11: publishes the wills of clients that are not back after a crash', () => {
  const [back, elsewhere, gone] = [devices.back, devices.elsewhere, devices.gone].map((device) =>
    home.filter(device, 'gone'),
  );
  const topics = topicsTo('gone');
  expect(topics).toContain(gone);
  expect(topics).not.toContain(elsewhere);
  // The one that it has published itself.
  expect(topics.filter((topic) => topic === back)).toHaveLength(1);
});

it('fault 33: publishes the wills of clients that had come back before the crash, too', () => {
  for (const device of [devices.half, devices.quick]) {
    expect(topicsTo('gone')).toContain(home.filter(device, 'gone'));
  }
});

it('publishes the will that a token left only where the token may publish', () => {
  const payloads = publishes(bedClient.packets).map(({ payload }) => payload.toString());
  expect(payloads).toEqual(['by a manager', 'last']);
  expect(topicsTo('alarms')).toEqual([expect.stringMatching(/\/alarms\/fall$/)]);
});

it('publishes no will of a client that is connected when the clock has jumped', async () => {
  const device = devices.gone;
  const sensor = await RawClient.connect(place, device, { will: will(device) });
  const nurse = await RawClient.connect(place, home.viewer);
  await nurse.subscribe([home.filter(device, 'gone')]);
  vi.advanceTimersByTime(HEARTBEAT_MS);
  await sensor.ping();
  // Set right between two heartbeats, before the next sweep.
  const dayAheadMs = Date.now() + 24 * 3_600_000;
  const clock = vi.spyOn(Date, 'now').mockReturnValue(dayAheadMs);
  onTestFinished(() => clock.mockRestore());
  place.sweep();
  const store = await Store.of(home.gateway);
  await store.redis.ping();
  await sensor.publish(`devices/${device.id}/gone`, '"last"', 1);
  expect((await nurse.next('publish')).payload.toString()).toContain('"data":"last"');
  const left = await store.redis.lrange('{site}:broker:will', 0, -1);
  expect(left).toContainEqual(expect.stringContaining(device.id));
  store.close();
  for (const client of [sensor, nurse]) client.vanish();
});

it('fault 7: logs an error of the store while looking for wills, and goes on', async () => {
  const { mqttPort, lines } = place;
  const store = await Store.of(home.gateway);
  await store.redis.set('{site}:broker:will', 'not a list');
  place.sweep();
  await expect.poll(() => lines.filter((line) => line.includes('WRONGTYPE'))).toHaveLength(1);
  await store.redis.del('{site}:broker:will');
  const client = await RawClient.connect({ mqttPort }, devices.gone);
  await client.ping();
  client.vanish();
  store.close();
});
