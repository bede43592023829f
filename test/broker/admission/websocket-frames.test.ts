import { once } from 'node:events';
import { generate, type Packet, parser } from 'mqtt-packet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import type { TestDevice } from '../../former/clients/api.js';
import { faultsOf } from '../../former/clients/connection-list.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';

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

describe('MQTT over WebSocket', () => {
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
});
