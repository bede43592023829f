import { once } from 'node:events';
import { createServer } from 'node:net';

const LOWEST = 15_000;
const HIGHEST = 32_000;
const PORTS_PER_WORKER = 1_000;
/** Counted from 1 by Vitest; a program of its own has none. */
const WORKER = Number(process.env['VITEST_POOL_ID'] ?? 0);

/** Where this process looks next: among ports of its own, from any of them on. */
let next = Math.floor(Math.random() * PORTS_PER_WORKER);

/**
 * A port on which nothing listens, for a server that keeps it over a restart.
 *
 * No port is given twice before a thousand others, nor to two workers: a server may start long after it was
 * looked for, or be dead for a while. The port is below those that Linux gives to outgoing connections: a client
 * that connects again and again to a dead port among them connects to itself sooner or later, by TCP's simultaneous
 * open.
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
