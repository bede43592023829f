import type { Server } from 'node:net';
import type { Logger } from 'pino';

const TELL_EVERY_MS = 60_000;

/**
 * Closes every connection beyond the limit as soon as it is accepted. The log tells it once a minute:
 * whoever fills the listener must not fill the disk as well.
 */
export function limitConnections(server: Server, maxConnections: number, log: Logger): void {
  let isTold = false;
  server.maxConnections = maxConnections;
  server.on('drop', () => {
    if (isTold) return;
    isTold = true;
    log.warn({ maxConnections }, 'http listener is full: new connections are closed');
    setTimeout(() => {
      isTold = false;
    }, TELL_EVERY_MS).unref();
  });
}
