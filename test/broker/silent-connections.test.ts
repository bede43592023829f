import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ConnectionQuota } from '../../src/broker/connection-quota.js';
import { SilentConnections } from '../../src/broker/silent-connections.js';
import { Health } from '../../src/site/health.js';
import { QuotaWatch } from '../../src/site/quota-watch.js';
import { SiteModel } from '../../src/site/site-model.js';

const TIMEOUT_MS = 150;
const NAMED =
  'too many connections without a login, the oldest of them are closed: address 10.0.0.1';

let server: Server;
let silent: SilentConnections;
let health: Health;
let served: Socket[];
let timedOut: string[];
let clients: Socket[];

beforeEach(async () => {
  [served, timedOut, clients] = [[], [], []];
  health = new Health();
  const log = pino({ enabled: false });
  const now = () => performance.now();
  const watch = new QuotaWatch({ health, model: new SiteModel(), log, now });
  silent = new SilentConnections({
    timeoutMs: TIMEOUT_MS,
    quota: new ConnectionQuota({ total: 1_000, isExempt: () => true, watch }),
    onTimeout: (address) => timedOut.push(address),
  });
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    silent.wait(socket, '10.0.0.1', () => served.push(socket));
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

function allClosed(): Promise<unknown> {
  return Promise.all(clients.map((client) => once(client, 'close')));
}

it('serves a connection whose first byte has come, with all of its bytes, and ends it no more', async () => {
  await open(1);
  clients[0]?.write('MQTT');
  await expect.poll(() => served.length).toBe(1);
  await delay(2 * TIMEOUT_MS);
  expect(served[0]?.read()?.toString()).toBe('MQTT');
  expect(served[0]?.destroyed).toBe(false);
});

it('ends connections on which nothing comes, and names who opened several', async () => {
  await open(4);
  await allClosed();
  expect(served).toEqual([]);
  expect(timedOut).toEqual(Array(4).fill('10.0.0.1'));
  await expect.poll(() => health.faults()).toEqual([NAMED]);
});

it('names nobody for a single one', async () => {
  await open(1);
  await allClosed();
  expect(timedOut.length).toBe(1);
  expect(health.faults()).toEqual([]);
});

it('forgets a connection that its client has ended', async () => {
  await open(1);
  clients[0]?.end();
  await allClosed();
  await delay(2 * TIMEOUT_MS);
  expect(timedOut).toEqual([]);
});

it('names who opens several and ends them without a byte', async () => {
  await open(4);
  for (const client of clients) client.end();
  await allClosed();
  expect(timedOut).toEqual([]);
  await expect.poll(() => health.faults()).toEqual([NAMED]);
});

it('closes many that end at once in several turns of the event loop', async () => {
  let closed = 0;
  server.on('connection', (socket: Socket) => socket.once('close', () => closed++));
  await open(100);
  const ended = allClosed();
  for (const client of clients) client.end();
  const closedInTurn: number[] = [];
  for (let before = 0; before < 100; before = closed) {
    await nextTurn();
    closedInTurn.push(closed - before);
  }
  await ended;
  expect(Math.max(...closedInTurn)).toBeLessThanOrEqual(40);
});

it('names nobody for connections that it ends itself', async () => {
  await open(4);
  silent.stop();
  await allClosed();
  expect(health.faults()).toEqual([]);
});
