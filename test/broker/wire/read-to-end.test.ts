import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { ReadToEnd } from '../../../src/network/socket-front.js';

/** Both ends of a TCP connection. */
async function connected(): Promise<{ client: Socket; accepted: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('not a TCP address');
  const client = connect(bound.port, '127.0.0.1');
  const [accepted] = await once(server, 'connection');
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return { client, accepted };
}

it.each([0, 1, 1_024, 20_000])(
  'ends when the client has closed after %i bytes that arrived with its end',
  async (length) => {
    const { client, accepted } = await connected();
    client.end(Buffer.alloc(length, 'x'));
    // Everything including the end is in the socket before the first piece is read.
    accepted.pause();
    await expect.poll(() => accepted.bytesRead).toBe(length);
    const pieces = new ReadToEnd(accepted, 1_024);
    expect(await buffer(pieces)).toHaveLength(length);
  },
);

it('returns what has arrived when the client has closed and a write has failed', async () => {
  const { client, accepted } = await connected();
  const connection = new ReadToEnd(accepted);
  client.write(Buffer.alloc(1_000_000, 'x'));
  await once(client, 'drain');
  client.resetAndDestroy();
  await once(client, 'close');
  for (let written = 0; written < 3; written++) {
    await new Promise((resolve) => connection.write('answer', resolve));
  }
  expect(connection.destroyed).toBe(false);
  expect((await buffer(connection)).length).toBeGreaterThan(0);
});
