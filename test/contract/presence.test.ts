import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { PresenceStoreRedis } from '../../src/store/site/presence-store-redis.js';
import type { TestDevice } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { RawClient } from '../former/clients/raw-client.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';

const YEAR_MS = 365 * 24 * 3_600_000;
const seen = z.object({ lastSeenAt: z.string() });

let home: Home<GatewayHere>;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

/** Subscribes, and resolves once the retained messages have come, so that no live copy comes twice. */
async function watch(device: TestDevice, at: Home = home): Promise<Subscriber> {
  const last = 'gateway/status';
  const watcher = await at.nurse(device, 'status');
  // Retained messages follow SUBACK, in the order of the subscriptions.
  await watcher.subscribe(last);
  await watcher.until((received) => received.some(({ topic }) => topic === last));
  await watcher.client.unsubscribeAsync(last);
  const ofDevice = watcher.received.filter(({ topic }) => topic !== last);
  watcher.received.splice(0, watcher.received.length, ...ofDevice);
  return watcher;
}

function onlineOf(watcher: Subscriber): unknown[] {
  return watcher.messages('/status').map(({ online }) => online);
}

async function overHttp(device: TestDevice): Promise<unknown> {
  return home.api.json('GET', `/care-homes/${home.locationId}/devices/${device.id}`);
}

it('shows a device as online while it is connected, over MQTT and HTTP alike', async () => {
  const device = await home.device();
  expect(await overHttp(device)).toMatchObject({ online: false, lastSeenAt: null });
  const watcher = await watch(device);
  const sensor = await connectDevice(home.gateway, device);
  await watcher.untilCount(1);
  expect(await overHttp(device)).toMatchObject({ online: true });
  await sensor.endAsync();
  await watcher.untilCount(2);
  expect(onlineOf(watcher)).toEqual([true, false]);
  expect(await overHttp(device)).toMatchObject({
    online: false,
    lastSeenAt: expect.stringMatching(/Z$/),
  });
  expect(watcher.messages()[0]).toMatchObject({
    since: expect.stringMatching(/Z$/),
    device: { id: device.id },
    room: null,
    customData: {},
  });
  await watcher.end();
});

it('remembers nothing of a deleted device when a new one gets its id', async () => {
  const device = await home.device();
  await (await connectDevice(home.gateway, device)).endAsync();
  await expect.poll(() => overHttp(device)).toMatchObject({ online: false });
  const path = `/care-homes/${home.locationId}/devices`;
  await home.api.json('DELETE', `${path}/${device.id}`);
  const created = await home.api.json('POST', path, { id: device.id, name: 'Bett 2' });
  expect(created).toMatchObject({ online: false, lastSeenAt: null });
});

it('retains the status of a device', async () => {
  const device = await home.device();
  const sensor = await connectDevice(home.gateway, device);
  const first = await watch(device);
  await first.untilCount(1);
  await sensor.endAsync();
  await first.until(() => onlineOf(first).at(-1) === false);
  const late = await watch(device);
  await late.untilCount(1);
  expect(late.received).toMatchObject([{ retain: true, qos: 1 }]);
  expect(onlineOf(late)).toEqual([false]);
  await Promise.all([first.end(), late.end()]);
});

it('shows a silent device as offline', async () => {
  const device = await home.device();
  const watcher = await watch(device);
  const sensor = await RawClient.connect(home.gateway, device, { keepalive: 1 });
  await watcher.untilCount(2);
  expect(onlineOf(watcher)).toEqual([true, false]);
  sensor.vanish();
  await watcher.end();
});

it('shows a device as offline that left while the store refused writes', async () => {
  const device = await home.device();
  const watcher = await watch(device);
  const sensor = await connectDevice(home.gateway, device);
  await watcher.untilCount(1);
  const store = await Store.of(home.gateway);
  await store.redis.config('SET', 'maxmemory', '1');
  await sensor.endAsync();
  const refused = /failed to (announce presence|publish statuses)/;
  await expect.poll(() => home.gateway.lines.some((line) => refused.test(line))).toBe(true);
  await store.redis.config('SET', 'maxmemory', '0');
  store.close();
  await watcher.until(() => onlineOf(watcher).at(-1) === false);
  const late = await watch(device);
  await late.untilCount(1);
  expect(onlineOf(late)).toEqual([false]);
  await Promise.all([watcher.end(), late.end()]);
});

it('never shows a device as offline if it reconnects before its old connection has ended', async () => {
  const device = await home.device();
  const watcher = await watch(device);
  const session = { clientId: `sensor-${device.id}` };
  await RawClient.connect(home.gateway, device, session);
  await watcher.untilCount(1);
  const again = await RawClient.connect(home.gateway, device, session);
  await again.ping();
  again.vanish();
  await watcher.untilCount(2);
  expect(onlineOf(watcher)).toEqual([true, false]);
  await watcher.end();
});

it('counts what comes through a hub as heard, whatever connections the device has itself', async () => {
  const device = await home.device();
  const { id, token } = await home.api.createToken([
    { location: home.locationId, role: 'publisher' },
  ]);
  const lastSeenAt = async () => seen.parse(await overHttp(device)).lastSeenAt;
  const [idle, second] = [
    await RawClient.connect(home.gateway, device, { clientId: 'idle' }),
    await RawClient.connect(home.gateway, device, { clientId: 'second' }),
  ];
  const connectedAt = await lastSeenAt();
  const hub = await RawClient.connect(home.gateway, { id, token });
  await hub.publish(`devices/${device.id}/battery`, '81', 1);
  const heardAt = await lastSeenAt();
  expect(heardAt > connectedAt, `${heardAt} after ${connectedAt}`).toBe(true);
  const watcher = await watch(device);
  for (const client of [second, idle]) client.vanish();
  await watcher.until(() => onlineOf(watcher).at(-1) === false);
  expect(await lastSeenAt()).toBe(heardAt);
  hub.vanish();
  await watcher.end();
});

it.each(['stop', 'kill'])(
  'shows a device as offline that disappeared during a %s of the gateway',
  async (way) => {
    const killed = way === 'kill' ? await Home.startProcess() : undefined;
    if (killed !== undefined) onTestFinished(() => killed.remove());
    const at: Home = killed ?? home;
    const device = await at.device();
    const sensor = await connectDevice(at.gateway, device);
    const before = await watch(device, at);
    await before.untilCount(1);
    await (killed?.gateway.kill() ?? at.gateway.stop());
    await Promise.allSettled([sensor.endAsync(true), before.client.endAsync(true)]);
    await at.gateway.start();
    const after = await watch(device, at);
    await after.until(() => onlineOf(after).at(-1) === false);
    const path = `${at.path}/devices/${device.id}`;
    expect(await at.api.json('GET', path)).toMatchObject({ online: false });
    await after.end();
  },
);

it('tells subscribers that a device is gone when it is deleted or moved to another location', async () => {
  const elsewhere = await home.api.createLocation();
  const item = ({ id }: TestDevice) => `/care-homes/${home.locationId}/devices/${id}`;
  for (const leave of [
    (device: TestDevice) => home.api.json('DELETE', item(device)),
    (device: TestDevice) =>
      home.api.json('POST', `${item(device)}/move`, { targetLocationId: elsewhere.id }),
  ]) {
    const device = await home.device();
    const watcher = await watch(device);
    const sensor = await connectDevice(home.gateway, device);
    await watcher.untilCount(1);
    await leave(device);
    await watcher.untilCount(2);
    expect(onlineOf(watcher)).toEqual([true, false]);
    await sensor.endAsync(true);
    await watcher.end();
  }
});

it('does not tell subscribers that a device is online if it moved away while its status was being saved', async () => {
  const { gateway, api } = home;
  const elsewhere = await api.createLocation();
  const device = await home.device();
  const admin = await api.createToken([{ location: '*', role: 'admin' }]);
  const watcher = await Subscriber.connect(gateway, admin);
  await watcher.subscribe(`care-homes/+/devices/${device.id}/status`);
  const { save } = PresenceStoreRedis.prototype;
  const moving = vi
    .spyOn(PresenceStoreRedis.prototype, 'save')
    .mockImplementationOnce(async function (this: PresenceStoreRedis, announcements) {
      await save.call(this, announcements);
      // The store answers the gateway late.
      const path = `${home.path}/devices/${device.id}/move`;
      await api.json('POST', path, { targetLocationId: elsewhere.id });
    });
  const sensor = await connectDevice(gateway, device);
  await watcher.until((received) => received.some(({ topic }) => topic.includes(elsewhere.id)));
  expect(watcher.messages(elsewhere.id).at(-1)).toMatchObject({ online: true });
  expect(watcher.messages(`${home.locationId}/devices`).at(-1)).toMatchObject({ online: false });
  moving.mockRestore();
  await sensor.endAsync();
  await watcher.end();
});

it('retains nothing of a deleted device', async () => {
  const device = await home.device();
  const sensor = await connectDevice(home.gateway, device);
  const topic = `devices/${device.id}/temperature`;
  await sensor.publishAsync(topic, '21', { qos: 1, retain: true });
  const path = `/care-homes/${home.locationId}/devices/${device.id}`;
  await home.api.json('DELETE', path);
  await expect
    .poll(async () => {
      const late = await Subscriber.connect(home.gateway, home.viewer);
      await late.subscribe(home.filter(device));
      // This retained message arrives after those of the device, if any.
      await late.subscribe('gateway/status');
      await late.until((received) => received.some((one) => one.topic === 'gateway/status'));
      await late.end();
      return late.received.map((one) => one.topic);
    })
    .toEqual(['gateway/status']);
  await sensor.endAsync(true);
});

it('retains gateway/status, which shows after a stop that the gateway is gone', async () => {
  const watcher = await Subscriber.connect(home.gateway, home.viewer);
  await watcher.subscribe('gateway/status');
  await watcher.untilCount(1);
  expect(watcher.received[0]).toMatchObject({ retain: true, qos: 1 });
  expect(watcher.messages()[0]).toEqual({
    online: true,
    at: expect.stringMatching(/Z$/),
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    faults: [],
  });
  const stopped = home.gateway.stop();
  await watcher.until((received) => received.some(({ text }) => text.includes('"online":false')));
  await stopped;
  await watcher.client.endAsync(true);
  await home.gateway.start();
});

it('shows when a device was last seen by the corrected clock, after the clock was wrong for a while', async () => {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const moved = await Home.at(await GatewayHere.start({}, { now }));
  try {
    const device = await moved.device();
    const path = `/care-homes/${moved.locationId}/devices/${device.id}`;
    const lastSeenAtMs = async () => {
      const { lastSeenAt } = seen.parse(await moved.api.json('GET', path));
      return Date.parse(lastSeenAt);
    };
    aheadMs = YEAR_MS;
    const early = await connectDevice(moved.gateway, device);
    await early.endAsync();
    await expect.poll(lastSeenAtMs).toBeGreaterThan(Date.now() + YEAR_MS / 2);
    aheadMs = 0;
    const sensor = await connectDevice(moved.gateway, device);
    await expect.poll(lastSeenAtMs).toBeLessThan(Date.now() + YEAR_MS / 2);
    await sensor.endAsync();
  } finally {
    await moved.remove();
  }
});
