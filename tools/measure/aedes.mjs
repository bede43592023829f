// A bare Aedes in memory, as its readme sets it up: node aedes.mjs PORT. Says on which port it listens.
import { createServer } from 'node:net';
import { Aedes } from 'aedes';

const broker = await Aedes.createBroker();
const server = createServer((socket) => {
  socket.setNoDelay(true);
  broker.handle(socket);
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => {
  console.log(`listens on ${server.address().port}`);
});
