import { randomUUID } from 'node:crypto';
import { generate } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../former/clients/api.js';
import { connectDevice, type Subscriber } from '../former/clients/mqtt-clients.js';
import { publishPacket, RawClient } from '../former/clients/raw-client.js';
import { Home } from '../former/home.js';

let home: Home;
let other: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  other = await home.device('Bett 2');
});

afterAll(() => home.remove());

/** The messages received up to one that was accepted after all others. */
async function receivedBy(nurse: Subscriber, device: TestDevice): Promise<unknown[]> {
  await home.publishLast(device, 'last', '"last"');
  await nurse.until((received) => received.some(({ text }) => text.includes('"last"')));
  await nurse.end();
  return nurse.messages().map(({ data }) => data);
}

describe('a device publishing', () => {
  it.each([0, 1, 2] as const)('an alarm at QoS %i is forwarded and recorded', async (qos) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#');
    const sensor = await connectDevice(home.gateway, device);
    await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos });
    await nurse.untilCount(1);
    expect(nurse.received[0]).toMatchObject({ qos: 1, retain: false, dup: false });
    const { events } = await home.api.alarms(device);
    expect(events.map(({ id }) => id)).toEqual(nurse.messages().map(({ id }) => id));
    await sensor.endAsync();
    await nurse.end();
  });

  it.each([
    [0, 0],
    [1, 1],
    [2, 1],
  ] as const)('a message at QoS %i is forwarded at QoS %i', async (qos, forwarded) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'a/b/c/d/e/f');
    const sensor = await connectDevice(home.gateway, device);
    await sensor.publishAsync(`devices/${device.id}/a/b/c/d/e/f`, '7', { qos });
    await nurse.untilCount(1);
    expect(nurse.received[0]?.qos).toBe(forwarded);
    expect(nurse.messages()).toMatchObject([{ data: 7, device: { id: device.id } }]);
    await sensor.endAsync();
    await nurse.end();
  });

  it('messages arrive complete and in order wherever their bytes are split', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'cut/#', 'last');
    const sensor = await RawClient.connect(home.gateway, device);
    const { stream } = sensor;
    const [short, long] = ['"short"', JSON.stringify('x'.repeat(6_000))];
    const packet = (payload: string, messageId: number) =>
      generate({ ...publishPacket(`devices/${device.id}/cut`, payload), qos: 1, messageId });
    const bytes = Buffer.concat([
      packet(short, 1),
      generate({ cmd: 'pingreq' }),
      packet(long, 2),
      packet(short, 3),
      packet(JSON.stringify('y'.repeat(200)), 4),
      generate({ cmd: 'pingreq' }),
    ]);
    const pieceBytes = 7;
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      // Sends the next piece once this one has been handed to the network.
      await new Promise((resolve) => stream.write(bytes.subarray(at, at + pieceBytes), resolve));
    }
    await sensor.until((packets) => packets.some((one) => one.messageId === 4), 'no fourth PUBACK');
    const acknowledged = sensor.packets.filter(({ cmd }) => cmd === 'puback');
    expect(acknowledged.map(({ messageId }) => messageId)).toEqual([1, 2, 3, 4]);
    const received = await receivedBy(nurse, device);
    expect(received).toEqual(['short', 'x'.repeat(6_000), 'short', 'y'.repeat(200), 'last']);
    await sensor.ping();
    stream.destroy();
  });

  it('thousands of values at QoS 0 are all forwarded to a subscriber that reads', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'x', 'last');
    const sensor = await RawClient.connect(home.gateway, device);
    const numbers = Array.from({ length: 3_000 }, (_, index) => index);
    sensor.send(...numbers.map((one) => publishPacket(`devices/${device.id}/x`, String(one))));
    await sensor.ping();
    expect(await receivedBy(nurse, device)).toEqual([...numbers, 'last']);
    sensor.vanish();
  });

  const foreign: [string, (device: TestDevice) => string][] = [
    ["another device's alarms", () => `devices/${other.id}/alarms`],
    ["another device's message", () => `devices/${other.id}/x`],
    ["another device's rejected", () => `devices/${other.id}/rejected`],
    ["another device's commands", () => `devices/${other.id}/commands/x`],
    ['a topic of the subscribers', ({ id }) => `care-homes/${home.locationId}/devices/${id}/x`],
    ['a command at the location', ({ id }) => home.filter(other, `commands/${id}`)],
    ["the gateway's status", () => 'gateway/status'],
    ['nothing but its own prefix', ({ id }) => `devices/${id}`],
    ['fault 13: $SYS', () => '$SYS/x/new/clients'],
    ['a slash before', ({ id }) => `/devices/${id}/x`],
  ];
  it.each(foreign)(
    'on %s is acknowledged and reported, and nothing is forwarded',
    async (_what, topicOf) => {
      const device = await home.device();
      const nurse = await home.nurse(other, 'alarms/#', 'x', 'last', 'commands/#', 'rejected');
      const topic = topicOf(device);
      for (const qos of [0, 1, 2] as const) {
        const sensor = await RawClient.connect(home.gateway, device);
        await sensor.subscribe([`devices/${device.id}/rejected`]);
        const alarm = '{"kind":"fall"}';
        if (qos === 0) sensor.send(publishPacket(topic, alarm));
        else await sensor.publish(topic, alarm, qos);
        const { payload } = await sensor.next('publish');
        expect(JSON.parse(payload.toString())).toMatchObject({ reason: 'not-permitted', topic });
        await sensor.ping();
        sensor.vanish();
      }
      expect(await receivedBy(nurse, other)).toEqual(['last']);
      expect((await home.api.alarms(other)).events).toEqual([]);
    },
  );

  it.each([
    ['without a topic', () => ''],
    ['with a wildcard', ({ id }: TestDevice) => `devices/${id}/+`],
    ['with U+0000', ({ id }: TestDevice) => `devices/${id}/a\u0000b`],
  ])('%s loses its connection [MQTT-3.3.2-1]', async (_what, topicOf) => {
    const device = await home.device();
    const nurse = await home.nurse(device, '+');
    const sensor = await RawClient.connect(home.gateway, device);
    const topic = topicOf(device);
    // Written as bytes: `generate` does not write an empty topic.
    const length = Buffer.from([Buffer.byteLength(topic) >> 8, Buffer.byteLength(topic) & 0xff]);
    const body = Buffer.concat([length, Buffer.from(topic), Buffer.from('1')]);
    sensor.stream.write(Buffer.concat([Buffer.from([0x30, body.length]), body]));
    await sensor.closed();
    expect(await receivedBy(nurse, device)).not.toContain(1);
  });

  it('at QoS 1 with packet identifier 0 loses its connection [MQTT-2.3.1-1]', async () => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.send({ ...publishPacket(`devices/${device.id}/x`, '1'), qos: 1, messageId: 0 });
    await sensor.closed();
    expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
  });

  it('at QoS 1 without a packet identifier loses its connection', async () => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    const topic = Buffer.from(`devices/${device.id}/x`);
    const header = Buffer.from([0x32, 2 + topic.length, 0, topic.length]);
    sensor.stream.write(Buffer.concat([header, topic]));
    await sensor.closed();
    expect(sensor.packets.map(({ cmd }) => cmd)).toEqual(['connack']);
  });
});

describe('PUBACKs', () => {
  it('are sent in the order of the publishes, valid or not', async () => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    const topics = ['alarms', 'x', 'rejected', 'x', 'alarms', 'commands', 'a/b/c/d/e/f/g'];
    const packets = Array.from({ length: 90 }, (_, index) => ({
      ...publishPacket(`devices/${device.id}/${topics[index % topics.length]}`, '{"kind":"fall"}'),
      qos: 1 as const,
      messageId: index + 1,
    }));
    sensor.send(...packets);
    await sensor.until((came) => came.length === 1 + packets.length, 'not all acknowledged');
    expect(sensor.packets.slice(1)).toMatchObject(
      packets.map(({ messageId }) => ({ cmd: 'puback', messageId })),
    );
    sensor.vanish();
  });
});

describe('an alarm that is published again', () => {
  it.each([1, 2] as const)('with the same id is recorded once at QoS %i', async (qos) => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'last');
    const sensor = await RawClient.connect(home.gateway, device);
    const alarm = JSON.stringify({ kind: 'helpCall', id: randomUUID() });
    for (const messageId of [1, 2, 3]) {
      await sensor.publish(`devices/${device.id}/alarms`, alarm, qos, messageId);
    }
    sensor.vanish();
    await receivedBy(nurse, device);
    expect(nurse.received.filter(({ topic }) => topic.includes('/alarms/'))).toHaveLength(1);
    expect((await home.api.alarms(device)).events).toHaveLength(1);
  });

  it('without an id is recorded once when it is a retransmission', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'last');
    const alarm = publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}');
    for (const dup of [false, true, true]) {
      // A new connection each time, as if the last one broke before the PUBACK.
      const sensor = await RawClient.connect(home.gateway, device);
      sensor.send({ ...alarm, qos: 1, dup, messageId: 7 });
      await sensor.next('puback');
      sensor.vanish();
    }
    await receivedBy(nurse, device);
    expect(nurse.received.filter(({ topic }) => topic.includes('/alarms/'))).toHaveLength(1);
    expect((await home.api.alarms(device)).events).toHaveLength(1);
  });

  it('without an id is another alarm when its time differs by less than a millisecond', async () => {
    const device = await home.device();
    const nurse = await home.nurse(device, 'alarms/#', 'last');
    const sensor = await RawClient.connect(home.gateway, device);
    const second = new Date().toISOString().slice(0, 19);
    const times = [
      `${second}.782111Z`,
      `${second}.782999Z`,
      `${second}.782111000Z`,
      `${second.toLowerCase()}.782999+00:00`,
    ];
    for (const [index, detectedAt] of times.entries()) {
      const alarm = JSON.stringify({ kind: 'fall', detectedAt });
      await sensor.publish(`devices/${device.id}/alarms`, alarm, 1, index + 1);
    }
    sensor.vanish();
    await receivedBy(nurse, device);
    const ids = nurse.messages('/alarms/').map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    const { events } = await home.api.alarms(device);
    expect(events.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(events.map(({ detectedAt }) => detectedAt)).toEqual(Array(2).fill(`${second}.782Z`));
  });

  it('without an id is a second alarm when it is not a retransmission', async () => {
    const device = await home.device();
    const sensor = await RawClient.connect(home.gateway, device);
    const alarm = publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}');
    sensor.send({ ...alarm, qos: 1, messageId: 7 });
    await sensor.next('puback');
    sensor.send({ ...alarm, qos: 1, messageId: 7 });
    await sensor.next('puback');
    sensor.send({ ...alarm, qos: 1, dup: true, messageId: 8 });
    await sensor.next('puback');
    expect((await home.api.alarms(device)).events).toHaveLength(3);
    sensor.vanish();
  });

  it('at QoS 2 before its PUBREL is recorded once, though it has no id', async () => {
    const device = await home.device();
    const session = { clientId: `qos2-${device.id}`, clean: false };
    const alarm = publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}');
    for (const dup of [false, true]) {
      const sensor = await RawClient.connect(home.gateway, device, session);
      sensor.send({ ...alarm, qos: 2, dup, messageId: 9 });
      await sensor.next('pubrec');
      sensor.vanish();
    }
    const sensor = await RawClient.connect(home.gateway, device, session);
    sensor.send({ cmd: 'pubrel', messageId: 9 });
    await sensor.next('pubcomp');
    expect((await home.api.alarms(device)).events).toHaveLength(1);
    sensor.vanish();
  });
});
