import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Subscriber } from '../../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { accountOf } from '../../former/metrics.js';
import { Store } from '../../former/stored/store.js';
import { raise, statesOf, textOf } from './raised-alarms.js';

let home: Home;

beforeAll(async () => {
  home = await Home.start();
});

afterAll(() => home.remove());

describe('guarantee 2: a state', () => {
  let gateway: GatewayProcess;

  beforeAll(async () => {
    gateway = await GatewayProcess.start();
  });

  afterAll(() => gateway.remove());

  it('reaches an absent subscriber after its alarm, across kills of gateway and store, and is in its account', async () => {
    const own = await Home.at(gateway);
    const device = await own.device();
    const session = { clientId: 'nurse', clean: false };
    const nurse = await Subscriber.connect(own.gateway, own.viewer, session);
    await nurse.subscribe(own.filter(device, 'alarms/#'), own.filter(device, 'alarm-states/#'));
    await nurse.end();
    const topic = own.filter(device, 'alarm-states');
    const expected: string[] = [];
    const ids: string[] = [];
    const kills = [
      () => own.gateway.kill(),
      async () => {
        const store = await Store.of(own.gateway);
        store.kill();
        store.close();
        await own.gateway.kill();
      },
    ];
    for (const kill of kills) {
      for (let count = 0; count < 2; count++) {
        const id = await raise(own.gateway, device, 'fall');
        const manager = await Subscriber.connect(own.gateway, own.manager);
        for (const state of ['acknowledged', 'resolved']) {
          await manager.client.publishAsync(topic, textOf(id, state), { qos: 1 });
        }
        await manager.end();
        ids.push(id);
        expected.push(...['alarm', 'acknowledged', 'resolved'].map((what) => `${id} ${what}`));
      }
      await kill();
      await own.gateway.start();
    }
    const states = await statesOf(own.gateway, device);
    expect(ids.map((id) => states[id])).toEqual(ids.map(() => 'resolved'));
    const count = expected.length;
    const waiting = { accepted: count, delivered: 0, queued: count, expired: 0, dropped: 0 };
    expect(await accountOf(own.gateway, 'nurse', 'alarms')).toEqual(waiting);
    const back = await Subscriber.connect(own.gateway, own.viewer, session);
    await back.untilCount(count);
    expect(back.messages().map(({ id, state = 'alarm' }) => `${id} ${state}`)).toEqual(expected);
    const done = { ...waiting, delivered: count, queued: 0 };
    await expect.poll(() => accountOf(own.gateway, 'nurse', 'alarms')).toEqual(done);
    await back.end();
  });

  it('is acknowledged only once stored, and answered with 503 over HTTP until then', async () => {
    const own = await Home.at(gateway);
    const device = await own.device();
    const id = await raise(own.gateway, device, 'fall');
    const store = await Store.of(own.gateway);
    const client = await RawClient.connect(own.gateway, own.manager);
    store.freeze();
    try {
      client.send({
        cmd: 'publish',
        topic: own.filter(device, 'alarm-states'),
        qos: 1,
        messageId: 7,
        payload: textOf(id, 'acknowledged'),
        dup: false,
        retain: false,
      });
      await client.ping();
      const path = `/care-homes/${own.locationId}/alarms/${id}/resolve`;
      const { status } = await own.api.request('POST', path);
      expect(status).toBe(503);
      expect(client.packets.filter(({ cmd }) => cmd === 'puback')).toEqual([]);
    } finally {
      store.thaw();
      store.close();
    }
    expect((await client.next('puback')).messageId).toBe(7);
    expect((await statesOf(own.gateway, device))[id]).not.toBe('raised');
    client.vanish();
  });
});

describe('a stored state that somebody has damaged', () => {
  const BYTES_BEFORE_TEXT = 17;

  it.each([
    ['is no object', '5'],
    ['has a part that is none', '{"acknowledged":5}'],
    [
      'has another shape',
      '{"acknowledged":{"by":{"id":"a","name":"b"},"atMs":1,"sequence":1},"note":{}}',
    ],
  ])('that %s holds up its own device only', async (_, text) => {
    const own = await Home.start();
    try {
      const [device, other] = [await own.device(), await own.device()];
      const id = await raise(own.gateway, device, 'fall');
      const acknowledge = `${own.path}/alarms/${id}/acknowledge`;
      await own.api.json('POST', acknowledge, {});
      const store = await Store.of(own.gateway);
      for (const key of await store.redis.keys('*:alarm-states:*')) {
        for (const [field, stored] of Object.entries(await store.redis.hgetallBuffer(key))) {
          const damaged = [stored.subarray(0, BYTES_BEFORE_TEXT), Buffer.from(text)];
          await store.redis.hset(key, field, Buffer.concat(damaged));
        }
      }
      const audited = () => store.redis.xlen('{site}:audit:changes');
      const auditedBefore = await audited();
      const manager = await RawClient.connect(own.gateway, own.manager);
      for (const state of ['acknowledged', 'resolved']) {
        const topic = own.filter(device, 'alarm-states');
        manager.send({ ...publishPacket(topic, textOf(id, state)), qos: 1, messageId: 1 });
      }
      for (let count = 0; count < 3; count++) await raise(own.gateway, other, 'helpCall');
      expect(await audited()).toBeLessThanOrEqual(auditedBefore + 2);
      store.close();
      manager.vanish();
    } finally {
      await own.remove();
    }
  });
});
