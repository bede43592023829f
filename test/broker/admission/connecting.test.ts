import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { generate, type IConnectPacket } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { Api, type TestDevice, type TestToken } from '../../former/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import { eventually } from '../../former/eventually.js';
import { GatewayHere } from '../../former/gateway/gateway-here.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { Home } from '../../former/home.js';
import { ACCEPTED, returnCodeOf } from './return-code.js';

const IDENTIFIER_REJECTED = 2;
const BAD_CREDENTIALS = 4;
const NOT_AUTHORIZED = 5;

let gateway: GatewayHere;
let api: Api;
let device: TestDevice;
let viewer: TestToken;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  api = new Api(gateway);
  const { id } = await api.createLocation();
  device = await api.createDevice(id);
  viewer = await api.viewer(id);
});

afterAll(() => gateway.remove());

const returnCodeFor = (options: Partial<IConnectPacket>) => returnCodeOf(gateway, options);

describe('a CONNECT is answered with an error', () => {
  it('with 5 without credentials', async () => {
    expect(await returnCodeFor({})).toBe(NOT_AUTHORIZED);
  });

  it('with 5 without a password', async () => {
    expect(await returnCodeFor({ username: device.id })).toBe(NOT_AUTHORIZED);
  });

  it('with 4 for a wrong secret of a device', async () => {
    const password = Buffer.from(`${device.secret}x`);
    expect(await returnCodeFor({ username: device.id, password })).toBe(BAD_CREDENTIALS);
  });

  it('with 4 for a wrong token of an access token', async () => {
    const password = Buffer.from(device.secret);
    expect(await returnCodeFor({ username: viewer.id, password })).toBe(BAD_CREDENTIALS);
  });

  it.each(['nobody', '', '00000000-0000-4000-8000-000000000000', '__proto__'])(
    'with 4 for the unknown user "%s"',
    async (username) => {
      const password = Buffer.from(device.secret);
      expect(await returnCodeFor({ username, password })).toBe(BAD_CREDENTIALS);
    },
  );

  it('fault 14: with 2 for a zero-length client id and a session that persists', async () => {
    const bytes = generate(connectPacket({ ...credentials(viewer), clientId: '' }));
    // No library sends this: the flag of the clean session is cleared.
    const flagsAt = bytes.indexOf('MQTT') + 5;
    bytes.writeUInt8(bytes.readUInt8(flagsAt) & ~0x02, flagsAt);
    const client = await RawClient.open(gateway);
    client.stream.write(bytes);
    expect((await client.next('connack')).returnCode).toBe(IDENTIFIER_REJECTED);
    await client.closed();
  });

  it('with 2 for a client id reserved for a bridge', async () => {
    const options = { ...credentials(viewer), clientId: 'bridge/region' };
    expect(await returnCodeFor(options)).toBe(IDENTIFIER_REJECTED);
  });

  it.each([
    ['a wildcard', (): string => `devices/${device.id}/+`],
    ['a multi-level wildcard', (): string => `devices/${device.id}/#`],
  ])('when its will lies on %s', async (_what, topic) => {
    const will = { topic: topic(), payload: '{"kind":"fall"}', qos: 1 } as const;
    const client = await RawClient.open(gateway);
    client.send(connectPacket({ ...credentials(device), will }));
    await client.closed();
    expect(client.packets).not.toContainEqual(expect.objectContaining({ returnCode: ACCEPTED }));
  });
});

describe('a CONNECT is accepted', () => {
  it('from a device, with its id in upper or lower case', async () => {
    expect(await returnCodeFor(credentials(device))).toBe(ACCEPTED);
    const username = device.id.toUpperCase();
    expect(await returnCodeFor({ ...credentials(device), username })).toBe(ACCEPTED);
  });

  it('from an access token', async () => {
    expect(await returnCodeFor(credentials(viewer))).toBe(ACCEPTED);
  });

  it('with a zero-length client id and a clean session', async () => {
    expect(await returnCodeFor({ ...credentials(viewer), clientId: '' })).toBe(ACCEPTED);
  });

  it('from the administrator', async () => {
    const password = Buffer.from(ADMIN_TOKEN);
    expect(await returnCodeFor({ username: 'admin', password })).toBe(ACCEPTED);
  });

  it.each([0, 1, 300, 301, 65_535])('with a keep-alive of %i', async (keepalive) => {
    expect(await returnCodeFor({ ...credentials(device), keepalive })).toBe(ACCEPTED);
  });
});

describe('a client id', () => {
  it('of an ended clean session is free again', async () => {
    const clientId = 'free-again';
    const first = await RawClient.connect(gateway, viewer, { clientId });
    first.send({ cmd: 'disconnect' });
    await first.closed();
    expect(await returnCodeFor({ ...credentials(device), clientId })).toBe(ACCEPTED);
  });

  it('of a client that gave up before its CONNACK is free again', async () => {
    const clientIds = Array.from({ length: 20 }, (_, number) => `gave-up-${number}`);
    const clients = await Promise.all(clientIds.map(() => RawClient.open(gateway)));
    // All connect together, so that the gateway reads CONNECT and the end of most of them at the same time.
    for (const [number, client] of clients.entries()) {
      const clientId = clientIds[number] ?? '';
      client.send(connectPacket({ ...credentials(viewer), clientId }));
      client.vanish();
    }
    for (const clientId of clientIds) {
      await eventually(async () => {
        expect(await returnCodeFor({ ...credentials(device), clientId })).toBe(ACCEPTED);
      });
    }
  });

  it.each(['constructor', '__proto__', 'a:b/c+#', '名前'])('may be "%s"', async (clientId) => {
    const persistent = { clientId, clean: false };
    const first = await RawClient.connect(gateway, viewer, persistent);
    const filter = `care-homes/${device.locationId}/#`;
    expect(await first.subscribe([filter])).toEqual([1]);
    first.vanish();
    const again = await RawClient.open(gateway);
    again.send(connectPacket({ ...credentials(viewer), ...persistent }));
    expect(await again.next('connack')).toMatchObject({ returnCode: 0, sessionPresent: true });
    again.vanish();
  });
});

it('longer than 23 characters is accepted from a client of MQTT 3.1', async () => {
  const client = await RawClient.open(gateway);
  const protocol = { protocolId: 'MQIsdp', protocolVersion: 3 } as const;
  client.send(connectPacket({ ...credentials(viewer), ...protocol, clientId: randomUUID() }));
  expect(await client.next('connack')).toMatchObject({ returnCode: 0 });
  client.vanish();
});

describe('a persistent session without a subscription', () => {
  const persistent = { clientId: 'publishes-only', clean: false };

  async function isPresent(who: TestDevice | TestToken): Promise<boolean> {
    const client = await RawClient.open(gateway);
    client.send(connectPacket({ ...credentials(who), ...persistent }));
    const { sessionPresent } = await client.next('connack');
    client.send({ cmd: 'disconnect' });
    await client.closed();
    return sessionPresent;
  }

  it('exists at the next connection, even after a restart, until a clean one ends it', async () => {
    // Paho discards unacknowledged messages if CONNACK reports no session.
    expect(await isPresent(device)).toBe(false);
    expect(await isPresent(device)).toBe(true);
    await gateway.stop();
    await gateway.start();
    expect(await isPresent(device)).toBe(true);
    const clean = await RawClient.connect(gateway, device, { ...persistent, clean: true });
    clean.vanish();
    expect(await isPresent(device)).toBe(false);
  });

  it('exists when its only filter was denied, and when its last filter has been removed', async () => {
    const own = { ...persistent, clientId: 'none-left' };
    const first = await RawClient.connect(gateway, viewer, own);
    expect(await first.subscribe(['elsewhere/x', '$session'])).toEqual([0x80, 0x80]);
    first.vanish();
    const second = await RawClient.open(gateway);
    second.send(connectPacket({ ...credentials(viewer), ...own }));
    expect(await second.next('connack')).toMatchObject({ sessionPresent: true });
    const filter = `care-homes/${device.locationId}/#`;
    expect(await second.subscribe([filter])).toEqual([1]);
    second.send({ cmd: 'unsubscribe', messageId: 2, unsubscriptions: [filter] });
    await second.next('unsuback');
    second.vanish();
    const third = await RawClient.open(gateway);
    third.send(connectPacket({ ...credentials(viewer), ...own }));
    expect(await third.next('connack')).toMatchObject({ sessionPresent: true });
    third.vanish();
  });
});

describe('a second CONNECT on a connection', () => {
  it('closes it', async () => {
    const client = await RawClient.connect(gateway, viewer);
    client.send(connectPacket(credentials(viewer)));
    await client.closed();
  });
});

describe('before CONNECT', () => {
  it('a PUBLISH closes the connection', async () => {
    const client = await RawClient.open(gateway);
    client.send(publishPacket(`devices/${device.id}/alarms`, '{"kind":"fall"}'));
    await client.closed();
    expect(client.packets).toEqual([]);
  });
});

describe('a SUBSCRIBE sent before CONNACK', () => {
  it('is stored if granted, however the packets are split', async () => {
    for (let attempt = 0; attempt < 25; attempt++) {
      const options = { ...credentials(viewer), clientId: `early-${attempt}`, clean: false };
      const early = await RawClient.open(gateway);
      early.send(connectPacket(options));
      // The gateway, in this process, reads it with the CONNECT, or some turns later while busy with that.
      for (let turn = 0; turn < attempt % 5; turn++) await setImmediate();
      expect(await early.subscribe([`care-homes/${device.locationId}/#`])).toEqual([1]);
      early.vanish();
      const back = await RawClient.open(gateway);
      back.send(connectPacket(options));
      expect(await back.next('connack')).toMatchObject({ returnCode: 0, sessionPresent: true });
      back.vanish();
    }
  });
});

it('a CONNECT that is held back is closed when the gateway stops', async () => {
  const slow = await Home.start({
    GATEWAY_LIMITS_DEVICE_CONNECTS_PER_SECOND: '1',
    GATEWAY_LIMITS_DEVICE_CONNECT_BURST: '1',
  });
  onTestFinished(() => slow.remove());
  const device = await slow.device();
  const clients = await Promise.all(Array.from({ length: 5 }, () => RawClient.open(slow.gateway)));
  for (const client of clients) client.send(connectPacket(credentials(device)));
  const isHeldBack = () => slow.gateway.lines.some((line) => line.includes('slowed clients'));
  await expect.poll(isHeldBack).toBe(true);
  await slow.gateway.stop();
  for (const client of clients) await client.closed();
});
