import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestDevice } from '../harness/api.js';
import { faultTextsIn } from '../harness/fault-texts.js';
import { GatewayHere } from '../harness/gateway-here.js';
import { Home } from '../harness/home.js';
import { connectDevice, Subscriber } from '../harness/mqtt-clients.js';
import { isRecorded, OwnRedis, Sensor, Watcher } from './faults.js';

let store: OwnRedis;
let home: Home;
let device: TestDevice;
let other: TestDevice;

beforeAll(async () => {
  store = await OwnRedis.create();
  await store.start();
  home = await Home.at(await GatewayHere.start({ GATEWAY_REDIS_URL: store.url }));
  [device, other] = [await home.device(), await home.device()];
  const durable = await Watcher.connect(home, 'durable');
  await durable.subscriber.end();
});

afterAll(async () => {
  await home.remove();
  await store.remove();
});

/** Damages the store while the gateway is stopped. */
async function damage(change: () => Promise<unknown>): Promise<void> {
  await home.gateway.stop();
  await change();
  await home.gateway.start();
}

/**
 * Checks that `GET /readyz` and `gateway/status` have the fault while the gateway is ready.
 *
 * @param id the damaged record, which only `/readyz` names
 */
async function namesFault(fault: RegExp, id = ''): Promise<void> {
  const ready = await home.api.request('GET', '/readyz');
  expect(ready.status).toBe(200);
  const texts = faultTextsIn(await ready.json());
  expect(texts.filter((one) => !fault.test(one))).toEqual([]);
  expect(texts.join()).toMatch(fault);
  expect(texts.join()).toContain(id);
  const admin = await home.api.createToken([{ location: '*', role: 'viewer' }]);
  const watcher = await Subscriber.connect(home.gateway, admin);
  await watcher.subscribe('gateway/status');
  await watcher.until((all) =>
    all.some(({ text }) => faultTextsIn(JSON.parse(text)).some((one) => fault.test(one))),
  );
  await watcher.end();
}

/** Checks that an alarm reaches the persistent subscriber, and the history. */
async function serves(): Promise<void> {
  const before = await home.api.allAlarms(device, '?limit=100');
  const watcher = await Watcher.back(home);
  const sensor = await Sensor.connect(home, device);
  const id = sensor.alarm();
  await watcher.has(id);
  await sensor.allAcknowledged();
  await isRecorded(home, device, [...before.map((alarm) => alarm.id), id]);
  sensor.client.vanish();
  await watcher.subscriber.end();
}

const key = (...parts: string[]) => ['{site}', ...parts].join(':');

it.each([
  ['locations', /^The store's list of locations lacked 1 location, put back/],
  ['devices', /^The store's list of devices lacked 1 device, put back/],
  [
    'access-tokens',
    /^The store's list of access tokens lacked (1|\d+ more) access tokens?, put back/,
  ],
])('serves as before and says what happened when the set of %s is gone', async (set, fault) => {
  await damage(() => store.redis.del(key(set)));
  await namesFault(fault);
  await serves();
  // The next start finds the store repaired.
  await damage(() => Promise.resolve());
  const ready = await home.api.request('GET', '/readyz');
  expect(await ready.json()).toMatchObject({ ready: true, faults: [] });
});

it('does not delete a location with devices when the sets of devices and rooms were gone', async () => {
  await damage(() => store.redis.del(key('devices'), key('rooms')));
  await namesFault(/^The store's list of devices lacked 1 device, put back/);
  await serves();
  const deletion = await home.api.request('DELETE', `/care-homes/${home.locationId}`);
  expect(deletion.status).toBe(409);
});

it('leaves out a device when its record is gone', async () => {
  const record = key('device', other.id);
  const before = await store.redis.hgetall(record);
  await damage(() => store.redis.del(record));
  await namesFault(/lists 1 device without a record, left out/, other.id);
  await serves();
  await expect(connectDevice(home.gateway, other)).rejects.toThrow();
  await damage(() => store.redis.hset(record, before));
  await (await connectDevice(home.gateway, other)).endAsync();
});

it('serves a location under its id when its record is gone', async () => {
  const record = key('location', home.locationId);
  const before = await store.redis.hgetall(record);
  await damage(() => store.redis.del(record));
  await namesFault(/no readable record of 1 location, served with the id as name/);
  await serves();
  await damage(() => store.redis.hset(record, before));
});

it('keeps the backlog of a token with an unknown role until its record is restored', async () => {
  const record = key('access-token', home.viewer.id);
  const before = await store.redis.hget(record, 'grants');
  const grants = before?.replace('viewer', 'emperor') ?? '';
  await damage(() => store.redis.hset(record, { grants }));
  await namesFault(/unreadable record of 1 access token, left out/, home.viewer.id);
  await expect(Subscriber.connect(home.gateway, home.viewer)).rejects.toThrow();
  const sensor = await Sensor.connect(home, device);
  const id = sensor.alarm();
  await sensor.allAcknowledged();
  sensor.client.vanish();
  await damage(() => store.redis.hset(record, { grants: before ?? '' }));
  const watcher = await Watcher.back(home);
  await watcher.has(id);
  await watcher.subscriber.end();
});
