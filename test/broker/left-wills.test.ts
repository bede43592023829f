import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { configSchema } from '../../src/config/schema.js';
import { Gateway } from '../../src/gateway.js';
import type { TestDevice, TestToken } from '../harness/api.js';
import type { GatewayProcess } from '../harness/gateway-process.js';
import { Home } from '../harness/home.js';
import { RawClient } from '../harness/raw-client.js';
import { Store } from '../harness/store.js';

/** Interval at which Aedes looks for unpublished wills. */
const SWEEP_MS = 240_000;
/** Interval at which Aedes says that it is alive. */
const HEARTBEAT_MS = 60_000;

let home: Home<GatewayProcess>;
let after: Gateway;

beforeEach(async () => {
  home = await Home.startProcess();
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await after.stop();
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

function will(device: TestDevice) {
  return { topic: `devices/${device.id}/gone`, payload: `"${device.name}"`, qos: 1 as const };
}

it('fault 11: publishes the wills of clients that are not back after a crash', async () => {
  const [back, elsewhere, gone] = [
    await home.device('back'),
    await home.device('back under another client id'),
    await home.device('gone'),
  ];
  for (const device of [back, elsewhere, gone]) {
    const options = { clientId: device.id, will: will(device) };
    await (await RawClient.connect(home.gateway, device, options)).ping();
  }
  await home.gateway.kill();
  const place = await startAgain();

  const nurse = await RawClient.connect(place, home.viewer);
  await nurse.subscribe([back, elsewhere, gone].map((device) => home.filter(device, 'gone')));
  const returned = await RawClient.connect(place, back, { clientId: back.id });
  const other = await RawClient.connect(place, elsewhere, { clientId: `${elsewhere.id}-2` });
  vi.advanceTimersByTime(SWEEP_MS);
  expect((await nurse.next('publish')).payload.toString()).toContain('"data":"gone"');

  // A message published now comes after all that the sweep passed on.
  await returned.publish(`devices/${back.id}/gone`, '"last"', 1);
  expect((await nurse.next('publish')).payload.toString()).toContain('"data":"last"');
  for (const client of [nurse, returned, other]) client.vanish();
});

it('fault 33: publishes the wills of clients that had come back before the crash, too', async () => {
  const [half, quick] = [await home.device('half-open'), await home.device('quick')];
  const open = (device: TestDevice) => {
    return RawClient.connect(home.gateway, device, { clientId: device.id, will: will(device) });
  };
  const before = await open(half);
  await (await open(half)).ping();
  await before.closed();
  for (let round = 0; round < 20; round++) {
    const client = await open(quick);
    client.send({ cmd: 'disconnect' });
    await client.closed();
  }
  await (await open(quick)).ping();
  const store = await Store.of(home.gateway);
  await store.redis.ping();
  store.close();
  await home.gateway.kill();
  const { sweep, ...place } = await startAgain();
  const nurse = await RawClient.connect(place, home.viewer);
  await nurse.subscribe([half, quick].map((device) => home.filter(device, 'gone')));
  sweep();
  const came = [await nurse.next('publish'), await nurse.next('publish')];
  expect(came.map(({ topic }) => topic).toSorted()).toEqual(
    [half, quick].map((device) => home.filter(device, 'gone')).toSorted(),
  );
  nurse.vanish();
});

it('publishes the will that a token left only where the token may publish', async () => {
  const [victim, bed] = [await (await Home.at(home.gateway)).device(), await home.device()];
  const command = home.filter(bed, 'commands/stop');
  const leave = async (who: TestToken, clientId: string, topic: string, payload: string) => {
    const options = { clientId, will: { topic, payload, qos: 1 as const } };
    await (await RawClient.connect(home.gateway, who, options)).ping();
  };
  await leave(home.viewer, 'forger', `devices/${victim.id}/alarms`, '{"kind":"inactivity"}');
  await leave(home.viewer, 'viewer', command, 'by a viewer');
  await leave(home.manager, 'back', command, 'by one that is back');
  await leave(home.manager, 'gone', command, 'by a manager');
  const admin = await home.api.createToken([{ location: '*', role: 'admin' }]);
  await home.gateway.kill();
  const place = await startAgain();

  const nurse = await RawClient.connect(place, admin);
  await nurse.subscribe([`care-homes/+/devices/${victim.id}/alarms/#`]);
  const sensor = await RawClient.connect(place, bed);
  await sensor.subscribe([`devices/${bed.id}/commands/#`]);
  const returned = await RawClient.connect(place, home.manager, { clientId: 'back' });
  vi.advanceTimersByTime(SWEEP_MS);
  expect((await sensor.next('publish')).payload.toString()).toBe('by a manager');

  // What is published now comes after all that the sweep passed on.
  const other = await RawClient.connect(place, victim);
  await other.publish(`devices/${victim.id}/alarms`, '{"kind":"fall"}', 1);
  expect((await nurse.next('publish')).topic).toMatch(/\/alarms\/fall$/);
  await returned.publish(command, 'last', 1);
  expect((await sensor.next('publish')).payload.toString()).toBe('last');
  for (const client of [nurse, sensor, returned, other]) client.vanish();
});

it('publishes no will of a client that is connected when the clock has jumped', async () => {
  const device = await home.device();
  await home.gateway.kill();
  const { sweep, ...place } = await startAgain();
  const sensor = await RawClient.connect(place, device, { will: will(device) });
  const nurse = await RawClient.connect(place, home.viewer);
  await nurse.subscribe([home.filter(device, 'gone')]);
  vi.advanceTimersByTime(HEARTBEAT_MS);
  await sensor.ping();
  // Set right between two heartbeats, before the next sweep.
  const dayAheadMs = Date.now() + 24 * 3_600_000;
  vi.spyOn(Date, 'now').mockReturnValue(dayAheadMs);
  sweep();
  const store = await Store.of(home.gateway);
  await store.redis.ping();
  await sensor.publish(`devices/${device.id}/gone`, '"last"', 1);
  expect((await nurse.next('publish')).payload.toString()).toContain('"data":"last"');
  expect(await store.redis.llen('{site}:broker:will')).toBe(1);
  store.close();
  for (const client of [sensor, nurse]) client.vanish();
});

it('fault 7: logs an error of the store while looking for wills, and goes on', async () => {
  const device = await home.device();
  await home.gateway.kill();
  const { mqttPort, lines } = await startAgain();
  const store = await Store.of(home.gateway);
  await store.redis.set('{site}:broker:will', 'not a list');
  vi.advanceTimersByTime(SWEEP_MS);
  await expect.poll(() => lines.filter((line) => line.includes('WRONGTYPE'))).toHaveLength(1);
  await store.redis.del('{site}:broker:will');
  const client = await RawClient.connect({ mqttPort }, device);
  await client.ping();
  client.vanish();
  store.close();
});
