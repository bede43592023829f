import { once } from 'node:events';
import { get } from 'node:http';
import { json } from 'node:stream/consumers';
import mqtt from 'mqtt';
import { generate, type Packet, parser } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import type { TestDevice } from '../../harness/clients/api.js';
import { faultsOf } from '../../harness/clients/connection-list.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../harness/clients/raw-client.js';
import { Home } from '../../harness/home.js';

const NAMED =
  'Too many WebSocket frames without an MQTT packet: the connections are closed: address 127.0.0.1';

/** Useless frames, sent together: a connection may send 1,000, plus ten a second. */
const FLOOD = 3_000;

let home: Home;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.start();
  device = await home.device();
});

afterAll(() => home.remove());

function url(path: string): string {
  return `${home.gateway.httpUrl.replace('http:', 'ws:')}${path}`;
}

/** The HTTP status of the handshake: 101 when it succeeds. */
async function statusOf(path: string, protocols: string[] = ['mqtt']): Promise<number> {
  const socket = new WebSocket(url(path), protocols);
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.once('unexpected-response', (_request, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    socket.once('error', reject);
  });
}

/** How often an address was named for useless frames. */
async function namings(): Promise<number> {
  const metrics = await (await fetch(`${home.gateway.httpUrl}/metrics`)).text();
  const [, count = '0'] =
    /^gateway_quota_exceeded_total\{quota="websocket_frames"\} (\d+)$/m.exec(metrics) ?? [];
  return Number(count);
}

async function open(): Promise<{ socket: WebSocket; client: RawClient }> {
  const socket = new WebSocket(url('/mqtt'), ['mqtt']);
  const client = new RawClient(createWebSocketStream(socket));
  await once(socket, 'open');
  return { socket, client };
}

const VERSIONS = [4, 5] as const;

describe('MQTT over WebSocket', () => {
  it.each(VERSIONS)(
    'carries alarms, commands and subscriptions of mqtt.js with version %i',
    async (protocolVersion) => {
      const nurse = await mqtt.connectAsync(url('/mqtt'), {
        protocolVersion,
        reconnectPeriod: 0,
        username: home.viewer.id,
        password: home.viewer.token,
      });
      await nurse.subscribeAsync(home.filter(device, 'alarms/#'), { qos: 1 });
      const topic = new Promise((resolve) => nurse.once('message', resolve));
      const sensor = await mqtt.connectAsync(url('/mqtt'), {
        protocolVersion,
        reconnectPeriod: 0,
        username: device.id,
        password: device.secret,
      });
      await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
      expect(await topic).toBe(home.filter(device, 'alarms/fall'));
      await Promise.all([nurse.endAsync(), sensor.endAsync()]);
    },
  );

  it.each([
    [['mqtt'], 'mqtt'],
    [['mqttv3.1'], 'mqttv3.1'],
    [['chat', 'mqttv3.1', 'mqtt'], 'mqtt'],
  ])('offered %j, speaks %s', async (offered, chosen) => {
    const socket = new WebSocket(url('/mqtt'), offered);
    await once(socket, 'open');
    expect(socket.protocol).toBe(chosen);
    socket.terminate();
  });

  it('requires the subprotocol of MQTT', async () => {
    await expect(statusOf('/mqtt', ['chat'])).rejects.toThrow(/subprotocol/);
  });

  it('is served at /mqtt, whatever the query', async () => {
    expect(await statusOf('/mqtt')).toBe(101);
    expect(await statusOf('/mqtt?token=x')).toBe(101);
  });

  it.each(['/mqtt/', '/mqtts', '/MQTT', '/mqtt/x', '//mqtt'])(
    'is not served at %s',
    async (path) => {
      expect(await statusOf(path)).toBe(404);
    },
  );

  it('leaves every other path to the HTTP interface', async () => {
    expect(await statusOf('/')).toBe(200);
    expect(await statusOf('/care-homes')).toBe(401);
    expect(await statusOf('/healthz')).toBe(200);
  });

  it('answers an invalid handshake as the HTTP interface does', async () => {
    const headers = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const request = get({ port: home.gateway.addresses.http.port, path: '/mqtt', headers });
    const [response] = await once(request, 'response');
    expect(response.statusCode).toBe(400);
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(await json(response)).toMatchObject({ code: 'invalid-request' });
  });

  it('requires credentials', async () => {
    const { client } = await open();
    client.send(connectPacket({ username: device.id, password: Buffer.from('wrong') }));
    expect((await client.next('connack')).returnCode).toBe(4);
    await client.closed();
  });

  it('accepts packets that span frames', async () => {
    const { socket, client } = await open();
    client.send(connectPacket(credentials(device)));
    await client.next('connack');
    for (const byte of [0xc0, 0x00]) socket.send(Buffer.from([byte]));
    await client.next('pingresp');
    client.vanish();
  });

  it('sends each packet in its own message, for clients that read only one packet of each', async () => {
    const { client: sensor } = await open();
    sensor.send(connectPacket(credentials(device)));
    await sensor.next('connack');
    const sizes = [...Array.from({ length: 20 }, (_, index) => index + 1), 40_000, 3];
    for (const [index, bytes] of sizes.entries()) {
      const packet = publishPacket(`devices/${device.id}/value/${index}`, 'x'.repeat(bytes));
      sensor.send({ ...packet, qos: 1, retain: true, messageId: index + 1 });
    }
    for (const _ of sizes) await sensor.next('puback');
    const { socket, client: nurse } = await open();
    const commands: (string | undefined)[][] = [];
    socket.on('message', (message: Buffer) => {
      const inside: (string | undefined)[] = [];
      const reader = parser().on('packet', ({ cmd }) => inside.push(cmd));
      // Remaining bytes are the beginning of another packet.
      if (reader.parse(message) > 0) inside.push(undefined);
      commands.push(inside);
    });
    nurse.send(connectPacket(credentials(home.viewer)));
    await nurse.next('connack');
    nurse.acknowledgeAll();
    await nurse.subscribe([home.filter(device, 'value/#')]);
    await nurse.until(
      (packets) => packets.filter(({ cmd }) => cmd === 'publish').length >= sizes.length,
      'the retained messages have not come',
    );
    expect(commands).toEqual([['connack'], ['suback'], ...sizes.map(() => ['publish'])]);
    for (const client of [sensor, nurse]) client.vanish();
  });

  it('fault 15: closes at the header of a packet that is too large', async () => {
    const { client } = await open();
    // The header of a PUBLISH of 2 MiB.
    client.stream.write(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x01]));
    await client.closed();
  });

  it('fault 16: closes at a frame that is too large, and names its address', async () => {
    const before = await namings();
    const { socket } = await open();
    const closed = once(socket, 'close');
    socket.send(Buffer.alloc(1024 * 1024));
    expect((await closed)[0]).toBe(1009);
    expect(await namings()).toBe(before + 1);
  });

  it('serves a client that sends an empty frame before and after each byte of its packets', async () => {
    const { socket, client } = await open();
    const sendApart = (packet: Packet) => {
      for (const byte of generate(packet)) {
        for (const part of [[], [byte], []]) socket.send(Buffer.from(part));
      }
    };
    sendApart(connectPacket(credentials(device)));
    await client.next('connack');
    for (let messageId = 1; messageId <= 100; messageId++) {
      sendApart({ ...publishPacket(`devices/${device.id}/x`, ''), qos: 1, messageId });
      await client.next('puback');
    }
    client.vanish();
  });

  it('accepts a packet in a message of a thousand fragments, some of them empty', async () => {
    const { socket, client } = await open();
    client.send(connectPacket(credentials(device)));
    await client.next('connack');
    const publish = publishPacket(`devices/${device.id}/x`, 'x'.repeat(400));
    for (const byte of generate({ ...publish, qos: 1, messageId: 1 })) {
      for (const part of [[byte], []]) socket.send(Buffer.from(part), { fin: false });
    }
    socket.send(Buffer.alloc(0));
    await client.next('puback');
    client.vanish();
  });

  it.each(VERSIONS)(
    'lets mqtt.js %i clear a retained message, with an empty will and an empty client id',
    async (protocolVersion) => {
      const sensor = await mqtt.connectAsync(url('/mqtt'), {
        protocolVersion,
        reconnectPeriod: 0,
        clientId: '',
        username: device.id,
        password: device.secret,
        will: {
          topic: `devices/${device.id}/gone`,
          payload: Buffer.alloc(0),
          qos: 1,
          retain: true,
        },
      });
      await sensor.publishAsync(`devices/${device.id}/mode`, 'on', { qos: 1, retain: true });
      await sensor.publishAsync(`devices/${device.id}/mode`, '', { qos: 1, retain: true });
      const nurse = await home.nurse(device, 'alarms/#');
      await sensor.publishAsync(`devices/${device.id}/alarms`, '{"kind":"fall"}', { qos: 1 });
      await nurse.untilCount(1);
      await Promise.all([nurse.end(), sensor.endAsync()]);
    },
  );

  it('closes on a flood of frames without a byte of a packet, and names its address', async () => {
    const { socket, client } = await open();
    client.send(connectPacket(credentials(device)));
    await client.next('connack');
    const before = await namings();
    for (let sent = 0; sent < FLOOD; sent++) socket.send(Buffer.alloc(0));
    await client.closed();
    expect(await namings()).toBe(before + 1);
  });

  it('closes on a text frame [MQTT-6.0.0-1]', async () => {
    const { socket, client } = await open();
    client.send(connectPacket(credentials(device)));
    await client.next('connack');
    // All of its bytes are ASCII.
    socket.send(generate(publishPacket(`devices/${device.id}/x`, '1')).toString());
    await client.closed();
  });

  it('answers ten pings in a row', async () => {
    const { socket, client } = await open();
    client.send(connectPacket(credentials(device)));
    await client.next('connack');
    let pongs = 0;
    socket.on('pong', () => pongs++);
    for (let sent = 0; sent < 10; sent++) socket.ping();
    await expect.poll(() => pongs).toBe(10);
    client.send({ cmd: 'pingreq' });
    await client.next('pingresp');
    client.vanish();
  });

  it.each(['ping', 'pong'] as const)(
    'closes on a flood of %s frames, and names its address',
    async (frame) => {
      const before = await namings();
      const { socket, client } = await open();
      client.send(connectPacket(credentials(device)));
      await client.next('connack');
      for (let sent = 0; sent < FLOOD; sent++) socket[frame]();
      await client.closed();
      expect(await namings()).toBeGreaterThan(before);
      expect(await faultsOf(home.gateway)).toContain(NAMED);
    },
  );

  it('closes on a message of more than 4,096 fragments, and names its address', async () => {
    const before = await namings();
    const { socket } = await open();
    const closed = once(socket, 'close');
    for (let sent = 0; sent <= 4_096; sent++) socket.send(Buffer.of(0x30), { fin: false });
    expect((await closed)[0]).toBe(1008);
    expect(await namings()).toBe(before + 1);
  });

  it('closes when the credential ends', async () => {
    const token = await home.api.viewer(home.locationId);
    const { client } = await open();
    client.send(connectPacket(credentials(token)));
    await client.next('connack');
    await home.api.json('DELETE', `/access-tokens/${token.id}`);
    await client.closed();
  });

  it('announces a device that vanishes as offline', async () => {
    const { client } = await open();
    const nurse = await home.nurse(device, 'status');
    client.send(connectPacket(credentials(device)));
    await nurse.until((received) => received.some(({ text }) => text.includes('"online":true')));
    const soFar = nurse.received.length;
    client.vanish();
    await nurse.until((received) =>
      received.slice(soFar).some(({ text }) => text.includes('"online":false')),
    );
    await nurse.end();
  });
});
