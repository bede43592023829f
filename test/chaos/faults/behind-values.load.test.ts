import { randomUUID } from 'node:crypto';
import type { IPublishPacket } from 'mqtt-packet';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import type { Subscriber } from '../../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import type { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';

/** Memory for unstored publishes of all clients, except alarms (`broker/budgets/unstored-publishes.ts`). */
const MAX_UNSTORED_BYTES = 64 * 1024 * 1024;

/** More than fit in one turn of reading, and fewer than are kept for one client. */
const SENT_BEFORE = 700;

let home: Home<GatewayProcess>;
let store: Store;
let device: TestDevice;
let nurse: Subscriber;

beforeAll(async () => {
  home = await Home.startProcess();
  store = await Store.of(home.gateway);
  await home.absent('away');
});

beforeEach(async () => {
  device = await home.device();
  nurse = await home.nurse(device, 'alarms/#', 'state');
});

afterEach(async () => {
  store.thaw();
  await nurse.end();
  // The next test has the gateway to itself.
  await eventually(async () => expect(await unstoredBytes()).toBe(0));
});

afterAll(async () => {
  store.close();
  await home.remove();
});

function alarm(id: string, qos: 0 | 1, messageId: number): IPublishPacket {
  const packet = publishPacket(`devices/${device.id}/alarms`, JSON.stringify({ kind: 'fall', id }));
  return qos === 0 ? packet : { ...packet, qos, messageId };
}

function value(rest: string, number: number, qos: 0 | 1, retain: boolean): IPublishPacket {
  const packet = { ...publishPacket(`devices/${device.id}/${rest}`, String(number)), retain };
  return qos === 0 ? packet : { ...packet, qos, messageId: number };
}

async function unstoredBytes(): Promise<number> {
  const text = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  return Number(/^gateway_unstored_bytes (\d+)$/m.exec(text)?.[1]);
}

type Make = (number: number) => IPublishPacket;

/** Publishes of a device before its alarm. */
const VALUES: readonly (readonly [name: string, make: Make])[] = [
  ['values at QoS 1', (number) => value('x', number, 1, false)],
  ['values at QoS 0', (number) => value('x', number, 0, false)],
  ['retained values at QoS 1', (number) => value('state', number, 1, true)],
  ['alarms at QoS 0', () => alarm(randomUUID(), 0, 0)],
];

/** Sends publishes and then an alarm at QoS 1, and expects the alarm to be live. */
async function isLiveBehind(
  sensor: RawClient,
  packets: IPublishPacket[],
  id: string,
  messageId = packets.length + 1,
): Promise<void> {
  sensor.send(...packets, alarm(id, 1, messageId));
  await nurse.until((received) => received.some(({ text }) => text.includes(id)));
}

function acknowledged(sensor: RawClient): unknown[] {
  return sensor.packets.flatMap((one) => (one.cmd === 'puback' ? [one.messageId] : []));
}

async function recordedIds(): Promise<string[]> {
  const events = await home.api.allAlarms(device);
  return events.map(({ id }) => id);
}

describe('guarantee 4: while the store is silent, an alarm after many publishes of its device', () => {
  it.each(VALUES)(
    'is live behind %s before anything is stored, and everything is stored once',
    async (_name, make) => {
      const packets = Array.from({ length: SENT_BEFORE }, (_, index) => make(index + 1));
      const sensor = await RawClient.connect(home.gateway, device);
      const id = randomUUID();
      store.freeze();
      await isLiveBehind(sensor, packets, id);
      expect(acknowledged(sensor)).toEqual([]);
      store.thaw();
      const expected = packets.filter(({ qos }) => qos > 0).length + 1;
      await sensor.until(() => acknowledged(sensor).length === expected, 'not all acknowledged');
      expect(acknowledged(sensor)).toEqual(
        Array.from({ length: expected }, (_, index) => packets.length + 2 - expected + index),
      );
      const sentAlarms = packets.filter(({ topic }) => topic.endsWith('/alarms'));
      const ids = [...sentAlarms.map(({ payload }) => JSON.parse(payload.toString()).id), id];
      // The alarms are acknowledged in the order they were sent.
      expect((await recordedIds()).toSorted()).toEqual(ids.toSorted());
      const stored = () =>
        nurse.received.filter(({ topic, qos }) => topic.includes('/alarms/') && qos === 1);
      await eventually(() => expect(stored().map(({ text }) => JSON.parse(text).id)).toEqual(ids));
      sensor.vanish();
    },
  );
});

it('keeps the newest of the retained values waiting for the store', async () => {
  const sensor = await RawClient.connect(home.gateway, device);
  store.freeze();
  for (let number = 1; number <= 500; number++) sensor.send(value('state', number, 0, true));
  await sensor.ping();
  expect(await unstoredBytes()).toBeLessThan(500_000);
  store.thaw();
  await nurse.until((received) => received.some(({ text }) => text.includes('"data":500,')));
  const numbers = nurse.messages('/state').map(({ data }) => Number(data));
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  const late = await home.nurse(device, 'state');
  await late.untilCount(1);
  expect(late.messages()).toMatchObject([{ data: 500 }]);
  await late.end();
  sensor.vanish();
});

describe('beyond the bound of one client', () => {
  // 14 MB by the gateway's account; the bound is 12 MiB.
  const COUNT = 800;
  const payload = JSON.stringify('x'.repeat(4_000));
  const long = (packet: IPublishPacket) => ({ ...packet, payload });

  it('a retained value at QoS 0 replaces the older one', async () => {
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.send(value('state', 1, 0, true));
    await nurse.untilCount(1);
    store.freeze();
    for (let number = 1; number <= COUNT; number++) sensor.send(long(value('x', number, 1, false)));
    sensor.send(value('state', 2, 0, true));
    await nurse.untilCount(2);
    const late = await home.nurse(device, 'state');
    await late.untilCount(1);
    expect(late.messages()).toMatchObject([{ data: 2 }]);
    await late.end();
    sensor.vanish();
  });

  it.each([
    ['values at QoS 1', (number: number) => long(value('x', number, 1, false))],
    [
      'retained values at QoS 0 of many topics',
      (number: number) => long(value(`x/${number}`, number, 0, true)),
    ],
  ] as const)(
    'an alarm is live behind more %s than are kept, and nothing is lost',
    async (_name, make) => {
      const packets = Array.from({ length: COUNT }, (_, index) => make(index + 1));
      const session = { clientId: `sensor-${device.id}`, clean: false };
      let sensor = await RawClient.connect(home.gateway, device, session);
      const first = randomUUID();
      store.freeze();
      sensor.send(...packets);
      await sensor.ping();
      await isLiveBehind(sensor, [], first, COUNT + 1);
      const second = randomUUID();
      sensor.send(alarm(second, 1, COUNT + 2));
      await nurse.until((received) => received.some(({ text }) => text.includes(second)));
      await sensor.ping();
      store.thaw();
      // Like a device, sends unacknowledged publishes again on the next connection.
      let waiting = [...packets, alarm(first, 1, COUNT + 1), alarm(second, 1, COUNT + 2)].filter(
        ({ qos }) => qos > 0,
      );
      for (;;) {
        await sensor.until(
          () => sensor.isClosed || acknowledged(sensor).length === waiting.length,
          'neither acknowledged nor closed',
        );
        const settled = acknowledged(sensor);
        // The acknowledgements are in order from the first.
        expect(settled).toEqual(waiting.slice(0, settled.length).map(({ messageId }) => messageId));
        waiting = waiting.slice(settled.length);
        if (waiting.length === 0) break;
        sensor = await RawClient.connect(home.gateway, device, session);
        sensor.send(...waiting.map((packet) => ({ ...packet, dup: true })));
      }
      expect((await home.api.alarms(device, '?order=asc')).events.map(({ id }) => id)).toEqual([
        first,
        second,
      ]);
      sensor.vanish();
    },
  );
});

it('serves a device as before when its neighbours have used up all room', async () => {
  const payload = JSON.stringify('x'.repeat(200_000));
  const floods = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const other = await home.device();
      const client = await RawClient.connect(home.gateway, other);
      return { other, client };
    }),
  );
  const sensor = await RawClient.connect(home.gateway, device);
  store.freeze();
  for (const { other, client } of floods) {
    for (let messageId = 1; messageId <= 16; messageId++) {
      const dump = publishPacket(`devices/${other.id}/dump`, payload);
      client.send({ ...dump, qos: 1, messageId });
    }
    await client.ping();
  }
  expect(await unstoredBytes()).toBeGreaterThan(MAX_UNSTORED_BYTES);
  for (const messageId of [1, 2, 3]) await isLiveBehind(sensor, [], randomUUID(), messageId);
  store.thaw();
  await sensor.until(() => acknowledged(sensor).length === 3, 'not acknowledged');
  expect(sensor.isClosed).toBe(false);
  for (const { client } of floods) client.vanish();
  sensor.vanish();
});

// These say nothing about the store, because they are not stored.
it.each([
  ['values at QoS 0', 20, 2_000, 'x', JSON.stringify('x'), 0],
  ['long values at QoS 0', 10, 300, 'x', JSON.stringify('x'.repeat(60_000)), 0],
  ['alarms that are none', 20, 2_000, 'alarms', 'none', 1],
] as const)(
  'guarantee 4: %s of a neighbour do not hide that the store is silent',
  async (_name, intervalMs, count, rest, payload, qos) => {
    const other = await home.device();
    const neighbour = await RawClient.connect(home.gateway, other);
    const sensor = await RawClient.connect(home.gateway, device);
    store.freeze();
    let messageId = 0;
    const sending = setInterval(() => {
      const packet = publishPacket(`devices/${other.id}/${rest}`, payload);
      messageId++;
      neighbour.send(qos === 0 ? packet : { ...packet, qos, messageId });
    }, intervalMs);
    const packets = Array.from({ length: count }, (_, index) => value('x', index + 1, 1, false));
    await isLiveBehind(sensor, packets, randomUUID());
    clearInterval(sending);
    neighbour.vanish();
    sensor.vanish();
  },
);
