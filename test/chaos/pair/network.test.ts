import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { PairNetwork } from '../../../tools/chaos/pair/network.js';
import { eventually } from '../../former/eventually.js';

const network = new PairNetwork();
const clients: Socket[] = [];
const echo = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.pipe(socket);
});

/** Connects as the named process, and collects what comes back. */
async function connectAs(name: string, port: number) {
  const client = connect({ port, host: '127.0.0.1', localAddress: network.sourceOf(name) });
  clients.push(client);
  const seen = { text: '', isClosed: false };
  client.on('error', () => undefined);
  client.on('data', (chunk) => {
    seen.text += chunk.toString();
  });
  client.on('close', () => {
    seen.isClosed = true;
  });
  await Promise.race([once(client, 'connect'), once(client, 'close')]).catch(() => undefined);
  return { client, seen };
}

async function echoFront(): Promise<number> {
  if (!echo.listening) await once(echo.listen(0, '127.0.0.1'), 'listening');
  const address = echo.address();
  return network.front('redis-1', typeof address === 'object' ? (address?.port ?? 0) : 0);
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  network.mend('gateway-1', 'redis-1');
  await network.close();
});

it('keeps the bytes of a silently cut link, and passes them on when mended', async () => {
  const port = await echoFront();
  const [one, other] = [await connectAs('gateway-1', port), await connectAs('gateway-2', port)];
  one.client.write('a');
  await eventually(() => expect(one.seen.text).toBe('a'));
  network.cut('gateway-1', 'redis-1', 'silent');
  one.client.write('b');
  // The other's link holds: a later write has arrived there, and still nothing at the first.
  other.client.write('c');
  await eventually(() => expect(other.seen.text).toBe('c'));
  expect(one.seen).toEqual({ text: 'a', isClosed: false });
  const late = await connectAs('gateway-1', port);
  late.client.write('d');
  network.mend('gateway-1', 'redis-1');
  await eventually(() => expect(one.seen.text).toBe('ab'));
  await eventually(() => expect(late.seen.text).toBe('d'));
});

it('breaks the connections of a cut link, and new ones until it is mended', async () => {
  const port = await echoFront();
  const [one, other] = [await connectAs('gateway-1', port), await connectAs('gateway-2', port)];
  await eventually(() => expect(network.connectionsOf('gateway-1', 'redis-1')).toBe(1));
  network.cut('gateway-1', 'redis-1', 'refused');
  await eventually(() => expect(one.seen.isClosed).toBe(true));
  const refused = await connectAs('gateway-1', port);
  await eventually(() => expect(refused.seen.isClosed).toBe(true));
  other.client.write('c');
  await eventually(() => expect(other.seen.text).toBe('c'));
  network.mend('gateway-1', 'redis-1');
  const again = await connectAs('gateway-1', port);
  again.client.write('d');
  await eventually(() => expect(again.seen.text).toBe('d'));
});
