import type { IConnectPacket, Packet } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DENIED_REASONS } from '../../../src/site/access/connection-list.js';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import { publishPacket, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

const FIVE = { protocolVersion: 5 } as const;

/** Opens a connection of MQTT 5. */
function connect(
  who: TestDevice | TestToken,
  options: Partial<IConnectPacket> = {},
): Promise<RawClient> {
  return RawClient.connect(home.gateway, who, { ...FIVE, ...options });
}

describe('a publish of MQTT 5', () => {
  it('is acknowledged with the reason why it is unusable, and keeps the connection', async () => {
    const client = await connect(device);
    const send = async (topic: string, payload: string, qos: 1 | 2) => {
      client.send({ ...publishPacket(topic, payload), qos, messageId: 7 });
      return client.next(qos === 1 ? 'puback' : 'pubrec');
    };
    for (const qos of [1, 2] as const) {
      const denied = await send('devices/other/alarms', '{"kind":"fall"}', qos);
      expect(denied.reasonCode).toBe(0x87);
      expect(denied.properties?.reasonString).toContain('its own topics');
      const unusable = await send(`devices/${device.id}/alarms`, '{"kind":"tea"}', qos);
      expect(unusable.reasonCode).toBe(0x99);
      expect(unusable.properties?.reasonString).toBe('unknown-kind');
    }
    const taken = await send(`devices/${device.id}/alarms`, '{"kind":"fall"}', 1);
    expect(taken.reasonCode ?? 0).toBe(0);
    client.vanish();
  });

  it('at QoS 2 frees its packet identifier when refused, even while the store does not answer', async () => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    await nurse.subscribe([home.filter(device, 'alarms/#')]);
    const client = await connect(device, {
      clean: false,
      clientId: 'refused',
      properties: { sessionExpiryInterval: 600 },
    });
    const send = (payload: string) =>
      client.send({
        ...publishPacket(`devices/${device.id}/alarms`, payload),
        qos: 2,
        messageId: 1,
      });
    const store = await Store.of(home.gateway);
    store.freeze();
    send('{"kind":"tea"}');
    expect((await client.next('pubrec')).reasonCode).toBe(0x99);
    send('{"kind":"fall","n":1}');
    store.thaw();
    expect((await client.next('pubrec')).reasonCode ?? 0).toBe(0);
    const isAlarm = ({ cmd }: Packet) => cmd === 'publish';
    await nurse.until(() => nurse.packets.some(isAlarm), 'the alarm did not come');
    store.close();
    client.vanish();
    nurse.vanish();
  });

  it('is denied without a reason to a client that wants none', async () => {
    const client = await connect(device, { properties: { requestProblemInformation: false } });
    client.send({ ...publishPacket('elsewhere', 'x'), qos: 1, messageId: 1 });
    const { reasonCode, properties } = await client.next('puback');
    expect([reasonCode, properties?.reasonString]).toEqual([0x87, undefined]);
    client.vanish();
  });

  it('is denied without a reason to a client whose packet size it would exceed', async () => {
    const client = await connect(device, { properties: { maximumPacketSize: 32 } });
    client.send({ ...publishPacket('elsewhere', 'x'), qos: 1, messageId: 1 });
    const { reasonCode, properties } = await client.next('puback');
    expect([reasonCode, properties?.reasonString]).toEqual([0x87, undefined]);
    client.vanish();
  });

  it('may replace its topic by an alias', async () => {
    const nurse = await home.nurse(device, 'values');
    const client = await connect(device);
    const publish = publishPacket(`devices/${device.id}/values`, '1');
    const properties = { topicAlias: 3 };
    client.send({ ...publish, properties }, { ...publish, topic: '', payload: '2', properties });
    await nurse.untilCount(2);
    await nurse.end();
    client.vanish();
  });
});

describe('a subscriber of MQTT 5', () => {
  it('gets a reason code for each filter', async () => {
    const client = await connect(home.viewer);
    const filters = [home.filter(device), 'care-homes/other/#', '$share/ward'];
    const subscriptions = filters.map((topic) => ({ topic, qos: 1 as const }));
    client.send({ cmd: 'subscribe', messageId: 1, subscriptions });
    const suback = await client.next('suback');
    expect(suback.granted).toEqual([1, 0x87, 0x8f]);
    expect(suback.properties?.reasonString).toBe(
      `${DENIED_REASONS['filter-outside-grants']} ${DENIED_REASONS['shared-filter-invalid']}`,
    );
    client.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: filters });
    const unsuback = await client.next('unsuback');
    expect(unsuback.granted).toEqual([0, 0x11, 0x11]);
    expect(unsuback.properties?.reasonString).toBe('The session has no such subscription.');
    client.vanish();
  });

  it('gets RETAIN as published when it asks for that, with a status too', async () => {
    const other = await home.device();
    const client = await connect(home.viewer);
    const topic = home.filter(other, '+');
    const subscriptions = [{ topic, qos: 1 as const, rap: true, rh: 2 }];
    client.send({ cmd: 'subscribe', messageId: 1, subscriptions });
    await client.next('suback');
    const sensor = await connect(other);
    const isOnline = await client.next('publish');
    expect(isOnline).toMatchObject({ topic: home.filter(other, 'status'), retain: true });
    for (const retain of [false, true]) {
      const publish = publishPacket(`devices/${other.id}/weight`, '60');
      sensor.send({ ...publish, qos: 1, messageId: 1, retain });
      expect(await client.next('publish')).toMatchObject({ retain });
    }
    for (const each of [sensor, client]) each.vanish();
  });

  it('gets its own message by the subscriptions that are not No Local only', async () => {
    const other = await home.device();
    const both = await home.api.createToken([
      { location: home.locationId, role: 'viewer' },
      { location: home.locationId, role: 'publisher' },
    ]);
    const client = await connect(both);
    const subscribe = async (topic: string, identifier: number, options: object) => {
      client.send({
        cmd: 'subscribe',
        messageId: identifier,
        subscriptions: [{ topic, qos: 1, ...options }],
        properties: { subscriptionIdentifier: identifier },
      });
      await client.next('suback');
    };
    await subscribe(home.filter(other, 'weight'), 7, { nl: true, rap: true });
    await subscribe(home.filter(other, '#'), 8, { qos: 0 });
    const weight = publishPacket(`devices/${other.id}/weight`, '60');
    client.send({ ...weight, qos: 1, messageId: 1, retain: true });
    const isWeight = (one: Packet) => one.cmd === 'publish' && one.topic.endsWith('/weight');
    const own = () => client.packets.filter(isWeight);
    await client.until(() => own().length === 1, 'its own message did not come');
    expect(own()).toMatchObject([
      { qos: 0, retain: false, properties: { subscriptionIdentifier: 8 } },
    ]);
    await home.publishLast(other, 'weight', '61');
    await client.until(() => own().length === 2, 'the message of the device did not come');
    const identifiers = { subscriptionIdentifier: expect.arrayContaining([7, 8]) };
    expect(own()[1]).toMatchObject({ qos: 1, properties: identifiers });
    client.vanish();
  });

  it('gets topics as aliases, as many as it accepts', async () => {
    const client = await connect(home.viewer, { properties: { topicAliasMaximum: 1 } });
    await client.subscribe([home.filter(device, 'aliased/#')], 0);
    for (const rest of ['aliased/1', 'aliased/2', 'aliased/1', 'aliased/2']) {
      await home.publishLast(device, rest, '1');
    }
    const got = [];
    while (got.length < 4) got.push(await client.next('publish'));
    const [one, other] = [home.filter(device, 'aliased/1'), home.filter(device, 'aliased/2')];
    expect(got.map(({ topic, properties }) => [topic, properties?.topicAlias])).toEqual([
      [one, 1],
      [other, undefined],
      ['', 1],
      [other, undefined],
    ]);
    client.vanish();
  });

  it('gets no more messages in flight than its receive maximum', async () => {
    const client = await connect(home.viewer, { properties: { receiveMaximum: 2 } });
    await client.subscribe([home.filter(device, 'alarms/#')]);
    await home.publish(device, 'alarms', Array(4).fill('{"kind":"fall"}'));
    const { messageId = 0 } = await client.next('publish');
    await client.next('publish');
    await client.ping();
    expect(client.packets.filter(({ cmd }) => cmd === 'publish')).toHaveLength(2);
    client.send({ cmd: 'puback', messageId });
    await client.next('publish');
    client.vanish();
  });

  it('gets no message larger than it accepts, which is counted and holds up nothing', async () => {
    const options = { clientId: 'small', clean: false } as const;
    const properties = { maximumPacketSize: 2_000, sessionExpiryInterval: 60 };
    const client = await connect(home.viewer, { ...options, properties });
    client.acknowledgeAll();
    await client.subscribe([home.filter(device, 'alarms/#')]);
    const note = 'x'.repeat(3_000);
    await home.publishLast(device, 'alarms', JSON.stringify({ kind: 'fall', data: { note } }));
    await home.publishLast(device, 'alarms', '{"kind":"helpCall"}');
    const { topic } = await client.next('publish');
    expect(topic).toContain('helpCall');
    client.vanish();
    const metric =
      /^gateway_consumer_dropped_by_reason_total\{consumer="small",log="alarms",reason="(\w+)".*\} 1$/gm;
    const reasons = async () => {
      const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
      return Array.from(metrics.matchAll(metric), ([, reason]) => reason);
    };
    await expect.poll(reasons).toEqual(['too_large']);
  });

  it('gets no message at QoS 0 larger than it accepts, which is counted', async () => {
    const client = await connect(home.viewer, { properties: { maximumPacketSize: 1_000 } });
    await client.subscribe([home.filter(device, 'sized')], 0);
    const count = async () => {
      const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
      return Number(/^gateway_too_large_messages_total (\d+)$/m.exec(metrics)?.[1]);
    };
    const before = await count();
    await home.publishLast(device, 'sized', `"${'x'.repeat(2_000)}"`);
    await home.publishLast(device, 'sized', '"fits"');
    expect((await client.next('publish')).payload.toString()).toContain('fits');
    expect(await count()).toBe(before + 1);
    client.vanish();
  });

  it('gets a message that fits only without an alias', async () => {
    const packetBytes = (topic: string, payload: string) => 4 + topic.length + payload.length + 3;
    const plain = await connect(home.viewer);
    await plain.subscribe([home.filter(device, 'fitting')], 0);
    await home.publishLast(device, 'fitting', `"${'x'.repeat(300)}"`);
    const { topic, payload } = await plain.next('publish');
    const maximumPacketSize = packetBytes(topic, payload.toString()) - 1;
    const client = await connect(home.viewer, {
      properties: { maximumPacketSize, topicAliasMaximum: 10 },
    });
    await client.subscribe([home.filter(device, 'fitting')], 0);
    await home.publishLast(device, 'fitting', `"${'x'.repeat(300)}"`);
    expect(await client.next('publish')).toMatchObject({
      topic,
      payload: { length: payload.length },
    });
    for (const each of [plain, client]) each.vanish();
  });

  it('refuses a message for good with an error code, which does not count as delivered', async () => {
    const client = await connect(home.viewer, {
      clientId: 'refusing',
      clean: false,
      properties: { sessionExpiryInterval: 60 },
    });
    await client.subscribe([home.filter(device, 'alarms/#')]);
    await home.publishLast(device, 'alarms', '{"kind":"fall"}');
    const { messageId = 0 } = await client.next('publish');
    client.send({ cmd: 'puback', messageId, reasonCode: 0x83 });
    const metric =
      /^gateway_consumer_dropped_by_reason_total\{consumer="refusing",log="alarms",reason="refused".*\} 1$/m;
    const metrics = async () => (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
    await expect.poll(metrics).toMatch(metric);
    client.vanish();
  });
});
