import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestDevice } from '../../former/clients/api.js';
import {
  connectPacket,
  credentials,
  publishPacket,
  RawClient,
} from '../../former/clients/raw-client.js';
import type { GatewayProcess } from '../../former/gateway/gateway-process.js';
import { Home } from '../../former/home.js';

const MAX_PACKET_BYTES = 256 * 1024;
const MIB = 1024 * 1024;

let home: Home<GatewayProcess>;
let device: TestDevice;

beforeAll(async () => {
  home = await Home.startProcess();
  device = await home.device();
});

afterAll(() => home.remove());

/** The fixed header of a PUBLISH at QoS 0 that announces this many bytes after itself. */
function publishHeader(remainingBytes: number): Buffer {
  const length: number[] = [];
  for (let rest = remainingBytes; rest > 0 || length.length === 0; rest >>= 7) {
    length.push((rest & 0x7f) | (rest >> 7 > 0 ? 0x80 : 0));
  }
  return Buffer.from([0x30, ...length]);
}

/** Opens a connection, with or without CONNECT. */
function open(isConnected: boolean): Promise<RawClient> {
  return isConnected ? RawClient.connect(home.gateway, device) : RawClient.open(home.gateway);
}

function residentBytes(): number {
  const status = readFileSync(`/proc/${home.gateway.processId}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** Resolves when the bytes have gone out or never will. */
function written(client: RawClient, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    client.stream.once('close', resolve);
    client.stream.write(bytes, () => resolve());
  });
}

describe.each([
  ['before CONNECT', false],
  ['after CONNECT', true],
])('fault 15: %s, a packet', (_when, isConnected) => {
  it.each([MAX_PACKET_BYTES - 3, 2 * MIB, 268_435_455])(
    'of %i bytes after its header closes the connection at that',
    async (bytes) => {
      const client = await open(isConnected);
      client.stream.write(publishHeader(bytes));
      await client.closed();
    },
  );

  it('of 2 MiB on each of 100 connections takes no memory', async () => {
    const clients = await Promise.all(Array.from({ length: 100 }, () => open(isConnected)));
    const packet = Buffer.concat([publishHeader(2 * MIB), Buffer.alloc(2 * MIB - 1)]);
    const before = residentBytes();
    await Promise.all(clients.map((client) => written(client, packet)));
    // The gateway answers the ping after everything that it reads of them.
    const witness = await RawClient.connect(home.gateway, device);
    await witness.ping();
    expect(residentBytes() - before).toBeLessThan(60 * MIB);
    for (const client of [...clients, witness]) client.vanish();
  });
});

describe('a packet of the largest size', () => {
  it('is accepted, and one byte more is not', async () => {
    const sized = await home.device();
    const nurse = await home.nurse(sized, 'x');
    const topic = `devices/${sized.id}/x`;
    const sensor = await RawClient.connect(home.gateway, sized);
    // Fixed header, length of the topic, packet identifier.
    const text = 'x'.repeat(MAX_PACKET_BYTES - Buffer.byteLength(topic) - 4 - 2 - 2);
    await sensor.publish(topic, text, 1);
    await nurse.untilCount(1);
    expect(nurse.messages()[0]).toMatchObject({ base64: Buffer.from(text).toString('base64') });
    sensor.send({ ...publishPacket(topic, `${text}x`), qos: 1, messageId: 2 });
    await sensor.closed();
    await nurse.end();
  });
});

describe('fault 16: an overlong', () => {
  const topicOf = (bytes: number) => `devices/${device.id}/`.padEnd(bytes, 'x');

  it('topic of 1025 bytes closes the connection and is not forwarded; one of 1024 is', async () => {
    const nurse = await home.nurse(device, '+');
    const sensor = await RawClient.connect(home.gateway, device);
    sensor.send({ ...publishPacket(topicOf(1025), '1'), qos: 1, messageId: 1 });
    await sensor.closed();
    const other = await RawClient.connect(home.gateway, device);
    await other.publish(topicOf(1024), '2', 1);
    await nurse.until((received) => received.some(({ text }) => text.includes('"data":2')));
    expect(nurse.messages('xxx')).toMatchObject([{ data: 2 }]);
    other.vanish();
    await nurse.end();
  });

  it('topic of a will closes the connection', async () => {
    const client = await RawClient.open(home.gateway);
    const will = { topic: topicOf(1025), payload: '1', qos: 1 } as const;
    client.send(connectPacket({ ...credentials(device), will }));
    await client.closed();
    expect(client.packets).toEqual([]);
  });

  it('filter closes the connection', async () => {
    const nurse = await RawClient.connect(home.gateway, home.viewer);
    const topic = home.filter(device).padEnd(1025, '/x').replace('#', 'x');
    nurse.send({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic, qos: 1 }] });
    await nurse.closed();
  });

  it('client id of 257 bytes closes the connection; one of 256 does not', async () => {
    const client = await RawClient.open(home.gateway);
    client.send(connectPacket({ ...credentials(device), clientId: 'x'.repeat(257) }));
    expect((await client.next('connack')).returnCode).toBe(2);
    await client.closed();
    const other = await RawClient.connect(home.gateway, device, { clientId: 'x'.repeat(256) });
    other.vanish();
  });

  it('topic in the same write as CONNECT does not end the gateway', async () => {
    const client = await RawClient.open(home.gateway);
    client.send(connectPacket(), publishPacket('x'.repeat(1025), ''));
    await client.closed();
    const other = await RawClient.connect(home.gateway, device);
    await other.ping();
    other.vanish();
  });
});

describe('many publishes at once', () => {
  it('are all acknowledged though the store has not yet answered for most of them', async () => {
    const busy = await home.device();
    const sensor = await RawClient.connect(home.gateway, busy);
    const packets = Array.from({ length: 2000 }, (_, index) => ({
      ...publishPacket(`devices/${busy.id}/x`, String(index)),
      qos: 1 as const,
      messageId: index + 1,
    }));
    sensor.send(...packets);
    await sensor.until((came) => came.length === 2001, 'not all acknowledged');
    sensor.vanish();
  });
});
