import { afterEach, beforeEach, expect, it } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { connectDevice, Subscriber } from '../former/clients/mqtt-clients.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { Home } from '../former/home.js';
import { accountOf } from '../former/metrics.js';
import { Store } from '../former/stored/store.js';
import { faultTextsIn } from '../harness/described/fault-texts.js';

let home: Home;
let device: TestDevice;
let store: Store;

beforeEach(async () => {
  home = await Home.at(await GatewayHere.start());
  device = await home.device();
  store = await Store.of(home.gateway);
});

afterEach(async () => {
  store.close();
  await home.remove();
});

const SESSION = { clientId: 'nurse', clean: false };
const keyOf = (kind: string) => `{site}:${kind}:token:${home.viewer.id}/nurse`;

async function nurse(): Promise<Subscriber> {
  const subscriber = await Subscriber.connect(home.gateway, home.viewer, SESSION);
  await subscriber.subscribe(home.filter(device, 'alarms/#'), home.filter(device, 'weight'));
  return subscriber;
}

async function publish(topic: string, count = 1): Promise<void> {
  const sensor = await connectDevice(home.gateway, device);
  for (let n = 0; n < count; n++) {
    await sensor.publishAsync(`devices/${device.id}/${topic}`, `{"kind":"fall","n":${n}}`, {
      qos: 1,
    });
  }
  await sensor.endAsync();
}

async function faults(): Promise<string> {
  const ready = await home.api.request('GET', '/readyz');
  return faultTextsIn(await ready.json()).join();
}

it('keeps what is owed to an absent session whose record the store has lost', async () => {
  await (await nurse()).end();
  await publish('alarms');
  await store.redis.del(keyOf('session'));
  await publish('alarms');
  const back = await nurse();
  await back.untilCount(2);
  const done = { accepted: 2, delivered: 2, queued: 0, expired: 0, dropped: 0 };
  await expect.poll(() => accountOf(home.gateway, 'nurse', 'alarms')).toEqual(done);
  await back.end();
});

it('continues after a queue was overwritten, and reports how much of it is lost', async () => {
  await (await nurse()).end();
  await publish('alarms', 3);
  await store.redis.set(keyOf('queue'), 'text');
  await publish('alarms');
  expect(await faults()).toContain('3 alarms of backlogs');
  const back = await nurse();
  await back.untilCount(1);
  await back.end();
});

it('reports a wrong account when somebody changes a counter, until that is acknowledged', async () => {
  await (await nurse()).end();
  await publish('alarms', 2);
  await store.redis.hincrby(keyOf('session'), 'alarms.delivered', 1);
  await expect.poll(faults, { timeout: 30_000 }).toContain('does not add up');
  await home.api.request('POST', '/faults/account-broken/acknowledge');
  await expect.poll(faults, { timeout: 30_000 }).not.toContain('does not add up');
  const account = { accepted: 3, delivered: 1, queued: 2, expired: 0, dropped: 0 };
  expect(await accountOf(home.gateway, 'nurse', 'alarms')).toEqual(account);
});

it('stores telemetry only for subscribers that are to get it later', async () => {
  const live = await Subscriber.connect(home.gateway, home.viewer, { clientId: 'live' });
  await live.subscribe(home.filter(device));
  await publish('weight', 10);
  await live.untilCount(10);
  expect(await store.keys('{site}:values:*')).toEqual([]);
  const away = await nurse();
  await away.end();
  await publish('weight', 5);
  expect(await store.redis.xlen(keyOf('values'))).toBe(5);
  await live.end();
});
