import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { HttpConnection } from '../../../src/http/server/http-connection.js';
import { ProcessorShare } from '../../../src/network/processor-share.js';

/** How many of the smallest requests one turn reads. */
const MAX_PARSED = 20;

it('leaves pipelined requests unread until the previous ones are answered', async () => {
  const turns = new ProcessorShare();
  let [parsed, handled] = [0, 0];
  const http = createHttpServer((request, response) => {
    parsed++;
    const { socket } = request;
    // No request is ever answered.
    if (socket instanceof HttpConnection) socket.queue(request, response, () => void handled++);
  });
  const [serve] = http.listeners('connection');
  const options = { network: 'x', turns, onBusy: () => undefined, onEnding: () => undefined };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    serve?.call(http, new HttpConnection({ socket, ...options }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
  });
  await once(server, 'listening');
  const bound = server.address();
  const port = typeof bound === 'object' ? (bound?.port ?? 0) : 0;
  const client = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
  onTestFinished(() => {
    client.destroy();
  });
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000_000));
  await expect.poll(() => handled).toBe(1);
  // Others get this many turns, and the connection gets one whenever it wants one.
  for (let turn = 1; turn <= 200; turn++) {
    const line = 'another network';
    await new Promise<void>((resolve) => turns.want({ line, takeTurn: () => resolve() }));
  }
  expect(handled).toBe(1);
  expect(parsed).toBeLessThanOrEqual(MAX_PARSED);
  // The rest stays in the buffers of the sockets.
  expect(client.writableLength).toBeGreaterThan(0);
});
