import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { SocketPieces } from '../../src/broker/socket-pieces.js';

/** Both ends of a connection over TCP. */
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
  'ends when the client has ended behind %i bytes that came with its end',
  async (length) => {
    const { client, accepted } = await connected();
    client.end(Buffer.alloc(length, 'x'));
    // All of it is in the socket, and so is its end, before the first piece is read.
    accepted.pause();
    await expect.poll(() => accepted.bytesRead).toBe(length);
    const pieces = new SocketPieces(accepted);
    expect(await buffer(pieces)).toHaveLength(length);
  },
);
