import { once } from 'node:events';
import { createServer } from 'node:net';

const LOWEST = 15_000;
const HIGHEST = 32_000;
const PORTS_PER_WORKER = 1_000;
/** Vitest counts from 1; a standalone program has none. */
const WORKER = Number(process.env['VITEST_POOL_ID'] ?? 0);

/** Where this process looks next: it has its own ports, and starts at a random one. */
let next = Math.floor(Math.random() * PORTS_PER_WORKER);

/**
 * A port on which nothing listens, for a server that keeps it across a restart.
 *
 * A port is not given again before a thousand others, nor to two workers: its server may start much later, or
 * be dead for a while. The port is below those that Linux gives to outgoing connections: a client that keeps
 * connecting to a dead port among those sooner or later connects to itself, by TCP's simultaneous open.
 */
export async function unusedPort(): Promise<number> {
  for (;;) {
    next = (next + 1) % PORTS_PER_WORKER;
    const port = LOWEST + ((WORKER * PORTS_PER_WORKER + next) % (HIGHEST - LOWEST));
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
