import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import type { GatewayProcess } from '../former/gateway/gateway-process.js';
import { Home } from '../former/home.js';
import { Store } from '../former/stored/store.js';
import { ALARM, absentNurse, backlogOf } from './absent-nurse.js';

let home: Home;
/** A second gateway, for tests with another gateway or a separate process. */
let other: Home<GatewayProcess>;
let store: Store;

beforeAll(async () => {
  [home, other] = await Promise.all([Home.start(), Home.startProcess()]);
  store = await Store.of(home.gateway);
});

afterEach(async () => {
  store.thaw();
  await store.redis.config('SET', 'maxmemory', '0');
});

afterAll(async () => {
  store.close();
  await Promise.all([home.remove(), other.remove()]);
});

/** Makes every write fail, as in a full store. */
async function fillStore({ redis } = store): Promise<void> {
  await redis.config('SET', 'maxmemory', '1');
}

async function emptyStore({ redis } = store): Promise<void> {
  await redis.config('SET', 'maxmemory', '0');
}

describe('guarantee 1, fault 2: the acknowledgement of an alarm', () => {
  it.each([
    [1, 'puback'],
    [2, 'pubrec'],
  ] as const)('at QoS %i is not sent before it is stored', async (qos, acknowledgement) => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    // A second connection, whose pings are answered while the first one waits.
    const witness = await RawClient.connect(home.gateway, device);
    store.freeze();
    sensor.send({ ...publishPacket(`devices/${device.id}/alarms`, ALARM), qos, messageId: 1 });
    for (let round = 0; round < 20; round++) await witness.ping();
    if (qos === 1) await sensor.ping();
    expect(sensor.packets.map(({ cmd }) => cmd)).not.toContain(acknowledgement);
    store.thaw();
    await sensor.next(acknowledgement);
    expect((await home.api.alarms(device)).events).toHaveLength(1);
    for (const client of [sensor, witness]) client.vanish();
  });

  it('means that the alarm survives even if the gateway ends at that very moment', async () => {
    const device = await other.device();
    const clientId = await absentNurse(other, device);
    const ids = [randomUUID(), randomUUID()];
    const sensor = await RawClient.connect(other.gateway, device);
    for (const [index, id] of ids.entries()) {
      const alarm = publishPacket(`devices/${device.id}/alarms`, `{"kind":"fall","id":"${id}"}`);
      sensor.send({ ...alarm, qos: index === 0 ? 2 : 1, messageId: index + 1 });
    }
    await Promise.all([sensor.next('pubrec'), sensor.next('puback')]);
    await other.gateway.kill();
    await other.gateway.start();
    const { events } = await other.api.alarms(device, '?order=asc');
    expect(events.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    const nurse = await backlogOf(other, clientId, ids.length);
    expect(nurse.messages().map(({ id }) => id)).toEqual(ids);
    await nurse.end();
  });

  it('is delayed, on the same connection, while the store is full', async () => {
    const device = await home.device();
    const clientId = await absentNurse(home, device);
    const sensor = await RawClient.connect(home.gateway, device);
    await fillStore();
    const alarm = publishPacket(`devices/${device.id}/alarms`, ALARM);
    sensor.send({ ...alarm, qos: 1, messageId: 5 }, { cmd: 'pingreq' });
    await sensor.next('pingresp');
    await expect.poll(async () => (await home.api.request('GET', '/readyz')).status).toBe(503);
    expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'pingresp']);
    await emptyStore();
    await sensor.next('puback');
    sensor.vanish();
    const nurse = await backlogOf(home, clientId, 1);
    expect((await home.api.alarms(device)).events).toHaveLength(1);
    await nurse.end();
  });
});

describe('PUBACKs', () => {
  it('are sent in the order of the publishes when the first waits for the store', async () => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    store.freeze();
    const rests = ['alarms', 'rejected', 'commands', 'alarms', 'status'];
    sensor.send(
      ...rests.map((rest, index) => ({
        ...publishPacket(`devices/${device.id}/${rest}`, ALARM),
        qos: 1 as const,
        messageId: index + 1,
      })),
    );
    await sensor.ping();
    store.thaw();
    await sensor.until((came) => came.length === 2 + rests.length, 'not all acknowledged');
    expect(sensor.packets.slice(1)).toMatchObject([
      { cmd: 'pingresp' },
      ...rests.map((_, index) => ({ cmd: 'puback', messageId: index + 1 })),
    ]);
    sensor.vanish();
  });
});

describe('fault 3: a QoS 2 alarm that the store refused', () => {
  const history = '{site}:history';

  it('is recorded once, and acknowledged, when the store accepts writes again', async () => {
    const device = await home.device();
    await home.publishLast(device, 'alarms', '{"kind":"fall"}');
    const session = { clientId: device.id, clean: false };
    const clientId = await absentNurse(home, device);
    const sensor = await RawClient.connect(home.gateway, device, session);
    const alarm = publishPacket(`devices/${device.id}/alarms`, ALARM);
    await store.redis.rename(history, 'kept aside');
    await store.redis.set(history, 'no stream');
    sensor.send({ ...alarm, qos: 2, messageId: 5 });
    await expect.poll(async () => (await home.api.request('GET', '/readyz')).status).toBe(503);
    await sensor.ping();
    expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'pingresp']);
    await store.redis.rename('kept aside', history);
    await sensor.next('pubrec');
    sensor.send({ ...alarm, qos: 2, dup: true, messageId: 5 });
    await sensor.next('pubrec');
    sensor.send({ cmd: 'pubrel', messageId: 5 });
    await sensor.next('pubcomp');
    sensor.vanish();
    const { events } = await home.api.alarms(device, '?order=asc');
    expect(events.map(({ kind }) => kind)).toEqual(['fall', 'helpCall']);
    const nurse = await backlogOf(home, clientId, 1);
    expect(nurse.messages()).toMatchObject([{ kind: 'helpCall' }]);
    await nurse.end();
  });

  it('is recorded immediately when the counter was not a number or too low', async () => {
    const sequence = '{site}:sequence:alarms';
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    for (const [index, value] of ['no number', '1'].entries()) {
      await sensor.publish(`devices/${device.id}/alarms`, ALARM, 1, 2 * index + 1);
      await store.redis.set(sequence, value);
      await sensor.publish(`devices/${device.id}/alarms`, ALARM, 1, 2 * index + 2);
    }
    const { events } = await home.api.alarms(device);
    expect(events).toHaveLength(4);
    sensor.vanish();
  });
});

describe('while the store does not answer', () => {
  it.each([true, false])(
    'a device can connect, and its alarm is live (clean: %s)',
    async (clean) => {
      const device = await home.device();
      const session = { clientId: `${device.id}-${clean}`, clean };
      (await RawClient.connect(home.gateway, device, session)).vanish();
      const nurse = await home.nurse(device, 'alarms/#');
      store.freeze();
      const sensor = await RawClient.connect(home.gateway, device, session);
      const alarm = publishPacket(`devices/${device.id}/alarms`, ALARM);
      sensor.send({ ...alarm, qos: 1, messageId: 1 });
      await nurse.untilCount(1);
      expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
      store.thaw();
      await sensor.next('puback');
      await nurse.untilCount(2);
      expect(nurse.received.map(({ qos }) => qos)).toEqual([0, 1]);
      expect(new Set(nurse.messages().map(({ id }) => id)).size).toBe(1);
      sensor.vanish();
      await nurse.end();
    },
  );
});

describe('a packet other than a publish that waits for the store', () => {
  it.each(['SUBSCRIBE', 'PUBREL'])('takes up room: %s', async (packet) => {
    const device = await home.device();
    const session = { clientId: packet, clean: false };
    const client = await RawClient.connect(home.gateway, device, session);
    const unstoredBytes = async () => {
      const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
      return Number(/^gateway_unstored_bytes (\d+)$/m.exec(text)?.[1]);
    };
    await expect.poll(unstoredBytes).toBe(0);
    store.freeze();
    const subscriptions = [{ topic: `devices/${device.id}/commands/#`, qos: 1 as const }];
    for (let messageId = 1; messageId <= 20; messageId++) {
      if (packet === 'PUBREL') client.send({ cmd: 'pubrel', messageId });
      else client.send({ cmd: 'subscribe', messageId, subscriptions });
    }
    await expect.poll(unstoredBytes).toBeGreaterThanOrEqual(20 * 2_048);
    store.thaw();
    await expect.poll(unstoredBytes).toBe(0);
    client.vanish();
  });
});

describe('fault 7: the will of a client', () => {
  it.each([1, 2] as const)('does not end the gateway on a full store (QoS %i)', async (qos) => {
    const { gateway } = other;
    const [device, full] = [await other.device(), await Store.of(gateway)];
    const nurse = await other.nurse(device, 'alarms/#');
    const will = { topic: `devices/${device.id}/alarms`, payload: ALARM, qos };
    await fillStore(full);
    for (let round = 0; round < 3; round++) {
      (await RawClient.connect(gateway, device, { will })).vanish();
    }
    const refused = () => gateway.lines.filter((line) => line.includes('OOM')).length;
    await expect.poll(refused).toBeGreaterThan(2);
    await emptyStore(full);
    (await RawClient.connect(gateway, device, { will })).vanish();
    await nurse.untilCount(1);
    expect(gateway.isRunning).toBe(true);
    expect((await other.api.request('GET', '/healthz')).status).toBe(200);
    full.close();
    await nurse.end();
  });
});
