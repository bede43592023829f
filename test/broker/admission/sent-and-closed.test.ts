import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { generate, type Packet } from 'mqtt-packet';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import { z } from 'zod';
import type { TestDevice } from '../../former/clients/api.js';
import { connectPacket, credentials, publishPacket } from '../../former/clients/raw-client.js';
import { Home } from '../../former/home.js';
import { Store } from '../../former/stored/store.js';

/** Thirty for each version. */
const TIMES = 60;
const CERTIFICATE = 'test/harness/tls/localhost.crt';
const DISCONNECT = { cmd: 'disconnect' } as const;

const page = z.object({
  events: z.array(z.object({ data: z.object({ n: z.number() }) })),
  nextCursor: z.string().nullable(),
});

let home: Home;
let store: Store;

beforeAll(async () => {
  home = await Home.start({
    GATEWAY_TLS_HOST: '127.0.0.1',
    GATEWAY_TLS_CERT_FILE: CERTIFICATE,
    GATEWAY_TLS_KEY_FILE: 'test/harness/tls/localhost.key',
    GATEWAY_MQTT_TLS_PORT: '0',
    GATEWAY_HTTP_TLS_PORT: '0',
  });
  store = await Store.of(home.gateway);
});

afterEach(() => store.thaw());

afterAll(async () => {
  store.close();
  await home.remove();
});

async function openTcp(): Promise<Socket> {
  const socket = connect(home.gateway.mqttPort, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

async function openTls(): Promise<Duplex> {
  const ca = readFileSync(CERTIFICATE);
  const port = home.gateway.addresses.mqtts?.port ?? 0;
  const socket = connectTls({ ca, host: '127.0.0.1', servername: 'localhost', port });
  await once(socket, 'secureConnect');
  return socket;
}

async function openWebSocket(): Promise<Duplex> {
  const socket = new WebSocket(`${home.gateway.httpUrl.replace('http:', 'ws:')}/mqtt`, ['mqtt']);
  await once(socket, 'open');
  return createWebSocketStream(socket);
}

const TRANSPORTS = [
  ['TCP', openTcp],
  ['TLS', openTls],
  ['WebSocket', openWebSocket],
] as const;

/** Sends the bytes in one write and ends the connection without waiting for an answer. */
async function sendAndEnd(stream: Duplex, bytes: Buffer): Promise<void> {
  stream.on('error', () => undefined).resume();
  stream.end(bytes);
  await once(stream, 'close');
}

/** Sends the bytes and closes the connection immediately: anything sent to it then is answered with a reset. */
async function sendAndClose(stream: Duplex, bytes: Buffer): Promise<void> {
  stream.on('error', () => undefined);
  await new Promise((resolve) => stream.write(bytes, resolve));
  stream.destroy();
  await once(stream, 'close');
}

const VERSIONS = [4, 5] as const;
let sessions = 0;

/** The bytes of a client that speaks 3.1.1 and 5 in turn. */
function session(device: TestDevice, packets: readonly Packet[], password = device.secret): Buffer {
  const protocolVersion = VERSIONS[sessions++ % VERSIONS.length] ?? 4;
  const options = { ...credentials(device), password: Buffer.from(password), protocolVersion };
  const all = [connectPacket(options), ...packets];
  return Buffer.concat(all.map((packet) => generate(packet, { protocolVersion })));
}

function alarm(device: TestDevice, n: number, qos: 0 | 1 | 2, messageId = n + 1): Packet {
  const payload = JSON.stringify({ kind: 'fall', n });
  return { ...publishPacket(`devices/${device.id}/alarms`, payload), qos, messageId };
}

/** The numbers of the device's recorded alarms, in the order of acceptance. */
async function recorded(device: TestDevice): Promise<number[]> {
  const numbers: number[] = [];
  const path = `/care-homes/${device.locationId}/alarms?order=asc`;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await home.api.json('GET', `${path}${cursor && `&cursor=${cursor}`}`);
    const { events, nextCursor } = page.parse(answer);
    numbers.push(...events.map(({ data }) => data.n));
    cursor = nextCursor;
  }
  return numbers;
}

/** A device in its own home, with its own history. */
async function loneDevice(): Promise<TestDevice> {
  return home.api.createDevice((await home.api.createLocation()).id);
}

describe.each(TRANSPORTS)('over %s', (_transport, open) => {
  describe.each([0, 1, 2] as const)('at QoS %i', (qos) => {
    it.each([
      ['DISCONNECT behind it', [DISCONNECT]],
      ['nothing behind it', []],
    ] as const)('an alarm sent with CONNECT, with %s, is recorded', async (_how, behind) => {
      const device = await loneDevice();
      for (let n = 0; n < TIMES; n++) {
        await sendAndEnd(await open(), session(device, [alarm(device, n, qos), ...behind]));
      }
      await expect.poll(() => recorded(device)).toHaveLength(TIMES);
    });
  });

  it('the alarms of a client that closes immediately are recorded in order', async () => {
    const device = await loneDevice();
    const numbers = Array.from({ length: TIMES }, (_, n) => n);
    const alarms = numbers.map((n) => alarm(device, n, 1));
    for (let from = 0; from < TIMES; from += 10) {
      await sendAndClose(await open(), session(device, alarms.slice(from, from + 10)));
    }
    await expect.poll(() => recorded(device)).toEqual(numbers);
  });

  it('alarms sent during a slow login and with a frozen store are recorded', async () => {
    const device = await loneDevice();
    store.freeze();
    for (let n = 0; n < TIMES; n++) {
      await sendAndEnd(await open(), session(device, [alarm(device, n, 1), DISCONNECT]));
    }
    store.thaw();
    await expect.poll(() => recorded(device)).toHaveLength(TIMES);
  });

  it('nothing is recorded from a client with a wrong password', async () => {
    const device = await loneDevice();
    await sendAndEnd(await open(), session(device, [alarm(device, 0, 1)], 'wrong'));
    await sendAndEnd(await open(), session(device, [alarm(device, 1, 1)]));
    await expect.poll(() => recorded(device)).toEqual([1]);
  });
});

it('a thousand alarms of a client that closes immediately are recorded', async () => {
  const device = await loneDevice();
  const alarms = Array.from({ length: 1_000 }, (_, n) => alarm(device, n, 1));
  await sendAndClose(await openTcp(), session(device, alarms));
  await expect.poll(() => recorded(device)).toHaveLength(1_000);
});
