import { once } from 'node:events';
import { createServer } from 'node:net';

const LOWEST = 15_000;
const PORTS_OF_WORKER = 500;
/** Vitest numbers the workers that run at a time; a program of the project is none of them. */
const WORKERS = 34;
const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS;

let offset = Math.floor(Math.random() * PORTS_OF_WORKER);

/**
 * A port on which nothing listens, for a server that keeps it over a restart.
 *
 * The port is below those that Linux gives to outgoing connections: a client that connects again
 * and again to a dead port among them connects to itself sooner or later, by TCP's simultaneous
 * open. Each worker has ports of its own and takes them in turn: some are listened on only a while later.
 */
export async function unusedPort(): Promise<number> {
  for (;;) {
    offset = (offset + 1) % PORTS_OF_WORKER;
    const port = LOWEST + worker * PORTS_OF_WORKER + offset;
    if (await isUnused(port)) return port;
  }
}

async function isUnused(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return true;
  } catch {
    return false;
  }
}
