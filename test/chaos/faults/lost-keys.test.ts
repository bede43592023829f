import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RecordKind } from '../../../src/domain/site.js';
import { keysOf } from '../../../src/store/keys.js';
import type { TestDevice } from '../../former/clients/api.js';
import { connectDevice, Subscriber } from '../../former/clients/mqtt-clients.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { Home } from '../../former/home.js';
import { rewriteRecord } from '../../former/stored/stored-records.js';
import { faultTextsIn } from '../../harness/described/fault-texts.js';
import { isRecorded, Sensor, Watcher } from './faults.js';
import { OwnRedis } from './own-redis.js';

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

/** The fault for missing data, which also shows until it is acknowledged. */
const LOST = /^The store has lost \d+ [\w, ]+, noticed at/;

/** Damages the store while the gateway is stopped. */
async function damage(change: () => Promise<unknown>): Promise<void> {
  await home.gateway.stop();
  await change();
  await home.gateway.start();
}

/**
 * Checks that `GET /readyz` and `gateway/status` have the fault, and that the gateway is ready.
 *
 * @param id the damaged record, which only `/readyz` names
 */
async function namesFault(fault: RegExp, id = ''): Promise<void> {
  const ready = await home.api.request('GET', '/readyz');
  expect(ready.status).toBe(200);
  const texts = faultTextsIn(await ready.json());
  expect(texts.filter((one) => !fault.test(one) && !LOST.test(one))).toEqual([]);
  expect(texts.join()).toMatch(fault);
  expect(texts.join()).toContain(id);
  if (texts.some((one) => LOST.test(one))) {
    await home.api.request('POST', '/faults/store-lost-data/acknowledge');
  }
  const admin = await home.api.createToken([{ location: '*', role: 'viewer' }]);
  const watcher = await Subscriber.connect(home.gateway, admin);
  await watcher.subscribe('gateway/status');
  await watcher.until((all) =>
    all.some(({ text }) => faultTextsIn(JSON.parse(text)).some((one) => fault.test(one))),
  );
  await watcher.end();
}

/** Checks that an alarm reaches the persistent subscriber and the history. */
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

const recordsOf = (kind: RecordKind) => keysOf('site').siteRecords(kind);

it('ignores a device when its record cannot be read', async () => {
  const record = await store.redis.hget(recordsOf('device'), other.id);
  await damage(() => rewriteRecord(store.redis, 'device', other.id, { secretHash: undefined }));
  await namesFault(/unreadable record of a device: it is left out/, other.id);
  await serves();
  await expect(connectDevice(home.gateway, other)).rejects.toThrow();
  await damage(() => store.redis.hset(recordsOf('device'), other.id, record ?? ''));
  await (await connectDevice(home.gateway, other)).endAsync();
});

it('serves a location under its id when its record is gone', async () => {
  const record = await store.redis.hget(recordsOf('location'), home.locationId);
  await damage(() => store.redis.hdel(recordsOf('location'), home.locationId));
  await namesFault(/no readable record of a location: its id serves as its name/);
  await serves();
  await damage(() => store.redis.hset(recordsOf('location'), home.locationId, record ?? ''));
});

it('keeps the backlog of a token with an unknown role until its record is restored', async () => {
  const grant = { location: home.locationId, role: 'viewer' };
  const give = (grants: unknown) => () =>
    rewriteRecord(store.redis, 'access-token', home.viewer.id, { grants });
  await damage(give([{ ...grant, role: 'emperor' }]));
  await namesFault(/unreadable record of an access token: it is left out/, home.viewer.id);
  await expect(Subscriber.connect(home.gateway, home.viewer)).rejects.toThrow();
  const sensor = await Sensor.connect(home, device);
  const id = sensor.alarm();
  await sensor.allAcknowledged();
  sensor.client.vanish();
  await damage(give([grant]));
  const watcher = await Watcher.back(home);
  await watcher.has(id);
  await watcher.subscriber.end();
});
