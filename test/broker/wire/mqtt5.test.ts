import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IConnackPacket, IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { TestDevice, TestToken } from '../../former/clients/api.js';
import { connectPacket, credentials, RawClient } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

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
    ['there is neither topic nor alias', 0x82, Buffer.from([0x30, 3, 0, 0, 0])],
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
