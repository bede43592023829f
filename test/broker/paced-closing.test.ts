import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { PacedClosing } from '../../src/broker/paced-closing.js';

const CONNECTIONS = 100;
const CLOSED_PER_TURN = 20;

const closing = new PacedClosing();
const accepted: Socket[] = [];
const clients: Socket[] = [];
const server = createServer((socket) => {
  closing.pace(socket);
  accepted.push(socket.on('error', () => undefined));
});

afterEach(() => {
  for (const socket of clients) socket.destroy();
  server.close();
});

it('closes many connections that end at once in several turns of the event loop', async () => {
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
  for (const socket of accepted) socket.destroy();
  const closedInTurn: number[] = [];
  for (let before = 0; before < CONNECTIONS; before = closed) {
    await nextTurn();
    closedInTurn.push(closed - before);
  }
  expect(Math.max(...closedInTurn)).toBeLessThanOrEqual(2 * CLOSED_PER_TURN);
  expect(clients.every((client) => client.errored === null)).toBe(true);
});
