// What chaos of a pair sees and cuts must be right, or its verdict is worth nothing.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Epochs, Interruptions } from '../../tools/chaos/pair/epochs.js';
import { PairNetwork } from '../../tools/chaos/pair/network.js';
import { eventually } from '../harness/wait.js';

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

describe('the record of interruptions', () => {
  it('measures a takeover from the last PUBACK before it to the first one after', () => {
    const account = new Interruptions();
    account.acknowledged('one', 100);
    account.acknowledged('one', 150);
    account.acknowledged('two', 1_150);
    account.acknowledged('two', 1_200);
    expect(account.takeovers).toEqual([{ from: 'one', to: 'two', tookMs: 1_000, atMs: 1_150 }]);
    expect(account.pauses).toEqual([{ fromMs: 150, toMs: 1_150 }]);
    expect(account.longestSince(1_000)).toBe(1_000);
    expect(account.longestSince(1_150)).toBe(0);
  });
});

describe('the record of epochs', () => {
  it('finds nothing when each gateway acknowledges in its own', () => {
    const epochs = new Epochs();
    epochs.held('one', 1);
    epochs.acknowledged('one', 100);
    epochs.held('two', 2);
    epochs.acknowledged('two', 200);
    epochs.held('one', 3);
    epochs.acknowledged('one', 300);
    expect(epochs.used).toBe(3);
    expect(epochs.violations).toEqual([]);
  });

  it('finds two gateways that acknowledge in the same epoch', () => {
    const epochs = new Epochs();
    epochs.held('one', 7);
    epochs.acknowledged('one', 100);
    epochs.held('two', 7);
    epochs.acknowledged('two', 200);
    expect(epochs.violations).toEqual(['two and one both in epoch 7']);
  });

  it('finds a gateway that acknowledges after one with a later epoch', () => {
    const epochs = new Epochs();
    epochs.held('one', 1);
    epochs.acknowledged('one', 100);
    epochs.held('two', 2);
    epochs.acknowledged('two', 200);
    epochs.acknowledged('one', 210);
    expect(epochs.violations).toEqual([
      'one acknowledged in epoch 1, 10 ms after two began to in 2',
    ]);
  });

  it('finds a gateway that acknowledges without a lease', () => {
    const epochs = new Epochs();
    epochs.acknowledged('one', 100);
    expect(epochs.violations).toEqual(['one acknowledged without a lease']);
  });
});
