import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { PacedClosing } from '../../../src/broker/admission/paced-closing.js';
import { KeepAlive } from '../../../src/broker/keep-alive.js';

const CONNECTIONS = 100;
const CLOSED_PER_TURN = 20;

const closing = new PacedClosing();
const accepted: Socket[] = [];
const clients: Socket[] = [];
const server = createServer((socket) => {
  accepted.push(socket.on('error', () => undefined));
});

afterEach(() => {
  for (const socket of clients) socket.destroy();
  server.close();
});

/** Waits until all connections are closed; returns the most that closed in one turn of the event loop. */
async function mostInTurn(count: () => number): Promise<number> {
  let most = 0;
  for (let before = 0; before < CONNECTIONS; before = count()) {
    await nextTurn();
    most = Math.max(most, count() - before);
  }
  return most;
}

it('spreads the closing of many simultaneously ending connections over several turns of the event loop', async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  while (clients.length < CONNECTIONS) {
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    clients.push(client);
    await once(client, 'connect');
  }
  await expect.poll(() => accepted.length).toBe(CONNECTIONS);
  let closed = 0;
  for (const socket of accepted) socket.once('close', () => closed++);
  for (const socket of accepted) closing.add(() => socket.destroy());
  expect(await mostInTurn(() => closed)).toBeLessThanOrEqual(2 * CLOSED_PER_TURN);
  expect(clients.every((client) => client.errored === null)).toBe(true);
});

it('spreads the ending of many simultaneously silent clients over several turns', async () => {
  const keepAlive = new KeepAlive();
  let ended = 0;
  for (let watched = 0; watched < CONNECTIONS; watched++) {
    keepAlive.watch({ keepAliveMs: 1, silentMs: 10, timeOut: () => ended++ });
  }
  keepAlive.start();
  const most = await mostInTurn(() => ended);
  keepAlive.stop();
  expect(most).toBeLessThanOrEqual(2 * CLOSED_PER_TURN);
});
