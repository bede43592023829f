import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IConnackPacket, IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { DENIED_REASONS } from '../../../src/site/access/connection-list.js';
import type { TestDevice, TestToken } from '../../harness/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../harness/clients/raw-client.js';
import { Home } from '../../harness/home.js';

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

const FIVE = { protocolVersion: 5 } as const;

/** The answer to a CONNECT of MQTT 5, on a connection that is then closed. */
async function answerTo(
  who: TestDevice | TestToken,
  options: Partial<IConnectPacket> = {},
): Promise<IConnackPacket> {
  const client = await RawClient.open(home.gateway, 5);
  client.send(connectPacket({ ...FIVE, ...credentials(who), ...options }));
  const connack = await client.next('connack');
  client.send({ cmd: 'disconnect' });
  await client.closed();
  return connack;
}

/** Opens a connection of MQTT 5. */
function connect(
  who: TestDevice | TestToken,
  options: Partial<IConnectPacket> = {},
): Promise<RawClient> {
  return RawClient.connect(home.gateway, who, { ...FIVE, ...options });
}

/** The reason code of the DISCONNECT sent to a client; it must also have the reason in words. */
async function disconnectCode(client: RawClient): Promise<number | undefined> {
  const { reasonCode, properties } = await client.next('disconnect');
  expect(properties?.reasonString).toMatch(/^.{5,}$/);
  await client.closed();
  return reasonCode;
}

describe('CONNACK of MQTT 5', () => {
  it('states the limits of the gateway', async () => {
    const { reasonCode, sessionPresent, properties } = await answerTo(device);
    expect([reasonCode, sessionPresent]).toEqual([0, false]);
    expect(properties).toEqual({
      maximumPacketSize: 256 * 1024,
      topicAliasMaximum: 64,
    });
  });

  it('assigns a client id to a client without one, even for a session that is kept', async () => {
    const properties = { sessionExpiryInterval: 60 };
    const connack = await answerTo(home.viewer, { clientId: '', properties });
    expect(connack.reasonCode).toBe(0);
    expect(connack.properties?.assignedClientIdentifier).toMatch(/^auto-/);
  });

  it('states the keep-alive and the session expiry that the gateway applies', async () => {
    const properties = { sessionExpiryInterval: 0xffffffff };
    const connack = await answerTo(home.viewer, { keepalive: 0, clientId: 'keeper', properties });
    expect(connack.properties).toMatchObject({
      serverKeepAlive: 300,
      sessionExpiryInterval: 7 * 24 * 3_600,
    });
  });

  it('tells a device on request where it can be answered', async () => {
    const { properties } = await answerTo(device, {
      properties: { requestResponseInformation: true },
    });
    expect(properties?.responseInformation).toBe(`devices/${device.id}/commands/`);
  });

  it.each<[string, number, Partial<IConnectPacket>]>([
    ['a wrong password', 0x86, { password: Buffer.from('wrong') }],
    ['a client id of bridges', 0x85, { clientId: 'bridge/x' }],
    ['a client id that is too long', 0x85, { clientId: 'x'.repeat(257) }],
    ['an authentication method', 0x8c, { properties: { authenticationMethod: 'SCRAM' } }],
  ])('to %s has the code %i, and says why', async (_what, code, options) => {
    const { reasonCode, properties } = await answerTo(device, options);
    expect(reasonCode).toBe(code);
    expect(properties?.reasonString).toMatch(/^.{5,}\.$/);
  });

  it('does not reveal to a stranger whether a user name exists', async () => {
    const password = Buffer.from('wrong');
    const reasons = [{ password }, { username: randomUUID(), password }].map(async (options) => {
      return (await answerTo(device, options)).properties?.reasonString;
    });
    const [ofPassword, ofName] = await Promise.all(reasons);
    expect(ofPassword).toBe('The user name or the password is wrong.');
    expect(ofName).toBe(ofPassword);
  });

  it('omits the reason when it would exceed the packet size of the client', async () => {
    const properties = { maximumPacketSize: 20 };
    const connack = await answerTo(device, { clientId: 'bridge/x', properties });
    expect(connack.reasonCode).toBe(0x85);
    expect(connack.properties?.reasonString).toBeUndefined();
  });

  it('to a malformed CONNECT has the code 0x81, and 0x82 for a protocol error', async () => {
    for (const [property, code] of [
      [[0x7f], 0x81],
      [[0x27, 0, 0, 0, 0], 0x82],
    ] as const) {
      const client = await RawClient.open(home.gateway, 5);
      const name = Buffer.from([0, 4, ...Buffer.from('MQTT')]);
      const body = [...name, 5, 2, 0, 60, property.length, ...property, 0, 0];
      client.stream.write(Buffer.from([0x10, body.length, ...body]));
      expect((await client.next('connack')).reasonCode).toBe(code);
      await client.closed();
    }
  });
});

describe('a session of MQTT 5', () => {
  const resumed = async (options: Partial<IConnectPacket>) =>
    (await answerTo(home.viewer, options)).sessionPresent;
  const kept = { clean: false, properties: { sessionExpiryInterval: 600 } };

  it('continues with 3.1.1, and back', async () => {
    const clientId = 'versions';
    expect(await resumed({ clientId, ...kept })).toBe(false);
    const before = await RawClient.connect(home.gateway, home.viewer, { clientId, clean: false });
    await before.subscribe([home.filter(device)]);
    before.vanish();
    await home.publishLast(device, 'alarms', '{"kind":"fall"}');
    const after = await connect(home.viewer, { clientId, ...kept });
    expect((await after.next('publish')).topic).toContain('/alarms/fall');
    after.vanish();
    expect(await resumed({ clientId, ...kept })).toBe(true);
  });

  it('ends with the connection when it has no expiry, and starts over with clean start', async () => {
    const clientId = 'short';
    expect(await resumed({ clientId, clean: false })).toBe(false);
    expect(await resumed({ clientId, ...kept })).toBe(false);
    expect(await resumed({ clientId, ...kept })).toBe(true);
    expect(await resumed({ clientId, ...kept, clean: true })).toBe(false);
    expect(await resumed({ clientId, ...kept })).toBe(true);
    expect(await resumed({ clientId, clean: false })).toBe(true);
    expect(await resumed({ clientId, ...kept })).toBe(false);
  });

  it('passes to a connection without an expiry that takes it over, and ends with it', async () => {
    const clientId = 'ending';
    const before = await connect(home.viewer, { clientId, ...kept });
    await before.subscribe([home.filter(device, 'alarms/#')]);
    const last = await connect(home.viewer, { clientId, clean: false });
    await before.closed();
    await home.publishLast(device, 'alarms', '{"kind":"fall"}');
    expect((await last.next('publish')).topic).toContain('/alarms/fall');
    last.vanish();
    expect(await resumed({ clientId, ...kept })).toBe(false);
  });

  it('ends after its expiry, which DISCONNECT may change', async () => {
    const clientId = 'over';
    const client = await connect(home.viewer, { clientId, ...kept });
    client.send({ cmd: 'disconnect', properties: { sessionExpiryInterval: 1 } });
    await client.closed();
    await home.gateway.logged('session ended: away for as long as it asked for');
    expect(await resumed({ clientId, ...kept })).toBe(false);
  });
});

describe('DISCONNECT of MQTT 5 is sent', () => {
  it('with 0x8E when another connection takes the session over', async () => {
    const first = await connect(home.viewer, { clientId: 'twice' });
    const second = await connect(home.viewer, { clientId: 'twice' });
    expect(await disconnectCode(first)).toBe(0x8e);
    second.vanish();
  });

  it('with 0x87 when the credential ends', async () => {
    const token = await home.api.viewer(home.locationId);
    const client = await connect(token);
    await home.api.request('DELETE', `/access-tokens/${token.id}`);
    expect(await disconnectCode(client)).toBe(0x87);
  });

  it('with 0x8D when the keep-alive expires', async () => {
    const client = await connect(device, { keepalive: 1 });
    expect(await disconnectCode(client)).toBe(0x8d);
  });

  it.each<[string, number, Buffer]>([
    ['a packet is malformed', 0x81, Buffer.from([0x30, 4, 0, 1, 0x61, 5])],
    ['a packet is against the protocol', 0x82, Buffer.from([0x20, 2, 0, 0])],
    ['a packet is too large', 0x95, Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f])],
    ['a topic alias is none', 0x94, Buffer.from([0x30, 7, 0, 1, 0x61, 3, 0x23, 0, 65])],
    ['a topic alias stands for nothing', 0x82, Buffer.from([0x30, 6, 0, 0, 3, 0x23, 0, 1])],
    ['there is neither topic nor alias', 0x81, Buffer.from([0x30, 3, 0, 0, 0])],
  ])('when %s, with %i', async (_what, code, bytes) => {
    const client = await connect(device);
    client.stream.write(bytes);
    expect(await disconnectCode(client)).toBe(code);
    const denied = z
      .array(z.looseObject({}))
      .parse(await home.api.json('GET', '/connections/denied'));
    expect(denied[0]).toMatchObject({
      operation: 'connection',
      mqttVersion: '5',
      returnCode: code,
    });
  });
});

it('DISCONNECT may not set an expiry for a session without one', async () => {
  const client = await connect(home.viewer);
  client.send({ cmd: 'disconnect', properties: { sessionExpiryInterval: 60 } });
  expect(await disconnectCode(client)).toBe(0x82);
});

it('AUTH ends the connection with 0x8C', async () => {
  const client = await connect(device);
  const answer = once(client.stream, 'data');
  client.stream.write(Buffer.from([0xf0, 0]));
  // mqtt-packet cannot read this packet: it knows no DISCONNECT with that code.
  const [disconnect] = z.tuple([z.instanceof(Buffer)]).parse(await answer);
  expect([disconnect[0], disconnect[2]]).toEqual([0xe0, 0x8c]);
  expect(disconnect.toString()).toMatch(/AUTH, which is not offered$/);
  await client.closed();
});

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
