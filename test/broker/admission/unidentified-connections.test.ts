import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConnectionQuota } from '../../../src/broker/admission/connection-quota.js';
import { UnidentifiedConnections } from '../../../src/broker/admission/unidentified-connections.js';
import { QuotaWatch } from '../../../src/site/access/quota-watch.js';
import { Health } from '../../../src/site/health/health.js';
import { SiteModel } from '../../../src/site/site-model.js';
import { faultTexts } from '../../harness/described/fault-texts.js';

/** Longer than a machine may stall between two steps of a test. */
const TIMEOUT_MS = 3_000;
const SHORT_MS = 150;
const MAX_PACKET_BYTES = 256 * 1024;
const MAX_BEGUN_BYTES = 32 * 1024 * 1024;
const CONNECT = generate({ cmd: 'connect', clientId: 'sensor', protocolVersion: 4, keepalive: 30 });
/** Announces 200,000 more bytes. */
const HEAD_OF_LONG_CONNECT = Buffer.from([0x10, 0xc0, 0x9a, 0x0c]);
const NAMED =
  'Too many connections without a login: the oldest of them are closed: address 10.0.0.1';

let server: Server;
let unidentified: UnidentifiedConnections;
let quota: ConnectionQuota;
let health: Health;
let timeoutMs: number;
let served: Socket[];
let timedOut: string[];
let malformed: string[];
let clients: Socket[];

beforeEach(async () => {
  [served, timedOut, malformed, clients] = [[], [], [], []];
  timeoutMs = TIMEOUT_MS;
  health = new Health();
  const log = pino({ enabled: false });
  const now = () => performance.now();
  const watch = new QuotaWatch({ health, model: new SiteModel(), log, now });
  quota = new ConnectionQuota({ total: 1_000, isExempt: () => true, watch });
  unidentified = new UnidentifiedConnections({
    get timeoutMs() {
      return timeoutMs;
    },
    maxPacketBytes: MAX_PACKET_BYTES,
    watch,
    quota,
    onTimeout: (address) => timedOut.push(address),
    onMalformed: (address) => malformed.push(address),
  });
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    unidentified.wait(socket, '10.0.0.1', () => served.push(socket));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  for (const socket of [...clients, ...served]) socket.destroy();
  server.close();
});

async function open(count: number): Promise<void> {
  const { port } = server.address() as AddressInfo;
  for (let opened = 0; opened < count; opened++) {
    const client = connect(port, '127.0.0.1').resume();
    await once(client, 'connect');
    clients.push(client);
  }
}

async function allClosed(): Promise<void> {
  for (const client of clients) if (!client.closed) await once(client, 'close');
}

it('serves a connection once its CONNECT is complete, with all its bytes, and no longer ends it', async () => {
  await open(1);
  const packets = Buffer.concat([CONNECT, Buffer.from([0xc0, 0])]);
  for (const [from, to] of [
    [0, 1],
    [1, 9],
    [9, packets.length],
  ]) {
    expect(served).toEqual([]);
    clients[0]?.write(packets.subarray(from, to));
    await nextTurn();
    await delay(10);
  }
  await expect.poll(() => served.length).toBe(1);
  await delay(TIMEOUT_MS + 500);
  expect(served[0]?.read()).toEqual(packets);
  expect(served[0]?.destroyed).toBe(false);
});

it.each([
  ['no CONNECT', Buffer.from('G')],
  ['a CONNECT that is too long', Buffer.from([0x10, 0xff, 0xff, 0xff, 0x7f])],
  ['a CONNECT whose length is malformed', Buffer.from([0x10, 0xff, 0xff, 0xff, 0xff])],
])('immediately ends a connection that begins with %s', async (_what, bytes) => {
  await open(1);
  clients[0]?.write(bytes);
  await allClosed();
  expect([served, malformed, timedOut]).toEqual([[], ['10.0.0.1'], []]);
});

it('ends connections that stop in the middle of CONNECT, and names an address that opened several', async () => {
  timeoutMs = SHORT_MS;
  await open(4);
  for (const client of clients) client.write(CONNECT.subarray(0, 12));
  await allClosed();
  expect(served).toEqual([]);
  expect(timedOut).toEqual(Array(4).fill('10.0.0.1'));
  await expect.poll(() => faultTexts(health.faults())).toEqual([NAMED]);
});

it('names nobody when all CONNECTs were complete, whatever became of them', async () => {
  await open(4);
  for (const client of clients) client.write(CONNECT);
  await expect.poll(() => served.length).toBe(4);
  for (const socket of served) socket.destroy();
  await allClosed();
  expect(faultTexts(health.faults())).toEqual([]);
});

it('ends the oldest incomplete CONNECT when all of them together are too large', async () => {
  const partBytes = 190_000;
  const part = Buffer.concat([HEAD_OF_LONG_CONNECT, Buffer.alloc(partBytes)]);
  const most = Math.floor(MAX_BEGUN_BYTES / part.length);
  timeoutMs = 60_000;
  await open(most + 1);
  const [oldest, second] = clients;
  for (const client of clients) client.write(part);
  await expect.poll(() => oldest?.closed).toBe(true);
  expect(second?.closed).toBe(false);
  expect(faultTexts(health.faults())).toEqual([NAMED]);
});

it('ends connections on which nothing arrives, and names an address that opened several', async () => {
  timeoutMs = SHORT_MS;
  await open(4);
  await allClosed();
  expect(served).toEqual([]);
  expect(timedOut).toEqual(Array(4).fill('10.0.0.1'));
  await expect.poll(() => faultTexts(health.faults())).toEqual([NAMED]);
});

it('names nobody for a single one', async () => {
  timeoutMs = SHORT_MS;
  await open(1);
  await allClosed();
  expect(timedOut.length).toBe(1);
  expect(faultTexts(health.faults())).toEqual([]);
});

it('forgets a connection that its client has closed', async () => {
  await open(1);
  clients[0]?.end();
  await allClosed();
  await delay(TIMEOUT_MS + 500);
  expect(timedOut).toEqual([]);
});

it('names an address that opens several and closes them without sending a byte', async () => {
  await open(4);
  for (const client of clients) client.end();
  await allClosed();
  expect(timedOut).toEqual([]);
  await expect.poll(() => faultTexts(health.faults())).toEqual([NAMED]);
});

it.each([
  ['silent', Buffer.alloc(0)],
  ['in the middle of CONNECT', CONNECT.subarray(0, 12)],
])(
  'spreads the closing of many simultaneously ending connections, %s, over several turns of the event loop',
  async (_how, bytes) => {
    let closed = 0;
    server.on('connection', (socket: Socket) => socket.once('close', () => closed++));
    await open(100);
    for (const client of clients) client.write(bytes);
    const ended = allClosed();
    for (const client of clients) client.end();
    const closedInTurn: number[] = [];
    for (let before = 0; before < 100; before = closed) {
      await nextTurn();
      closedInTurn.push(closed - before);
    }
    await ended;
    expect(Math.max(...closedInTurn)).toBeLessThanOrEqual(40);
  },
);

it('names nobody for connections that the gateway ends itself', async () => {
  await open(4);
  quota.dropAll();
  await allClosed();
  expect(faultTexts(health.faults())).toEqual([]);
});
