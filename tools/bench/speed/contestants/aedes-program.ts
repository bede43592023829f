/** Stock Aedes as its readme sets it up, in memory or with its Redis persistence. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import createPersistence from 'aedes-persistence-redis';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { answerOnce } from '../answering.js';

const placeSchema = z.object({ port: z.number(), socketPath: z.string().optional() });

answerOnce(placeSchema, async ({ port, socketPath }) => {
  const broker = await Aedes.createBroker(
    socketPath === undefined ? {} : { persistence: redisPersistence(socketPath) },
  );
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    broker.handle(socket);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
});

function redisPersistence(socketPath: string) {
  const options = {
    conn: new Redis({ path: socketPath, maxRetriesPerRequest: null }),
    // The default of 1,000 would leave the rest of a backlog for the next connection.
    maxSessionDelivery: 1_000_000,
  };
  return createPersistence(options);
}
