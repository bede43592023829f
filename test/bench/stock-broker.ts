/** Stock Aedes with its Redis persistence, as its readme sets it up: the peer of `drain`. */
import { createServer } from 'node:net';
import { Aedes } from 'aedes';
import createPersistence from 'aedes-persistence-redis';
import { Redis } from 'ioredis';

const [socketPath = ''] = process.argv.slice(2);
const options = {
  conn: new Redis({ path: socketPath, maxRetriesPerRequest: null }),
  // Its default of 1,000 would leave the rest of a backlog for the next connection.
  maxSessionDelivery: 1_000_000,
};
const persistence = createPersistence(options);
const broker = await Aedes.createBroker({ persistence });
const server = createServer((socket) => {
  socket.setNoDelay(true);
  broker.handle(socket);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.send?.(address.port);
});
