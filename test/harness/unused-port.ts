import { once } from 'node:events';
import { createServer } from 'node:net';

const LOWEST = 15_000;
const HIGHEST = 32_000;

/**
 * A port on which nothing listens, for a server that keeps it over a restart.
 *
 * The port is below those that Linux gives to outgoing connections: a client that connects again
 * and again to a dead port among them connects to itself sooner or later, by TCP's simultaneous
 * open.
 */
export async function unusedPort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
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
