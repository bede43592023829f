import type { Server, Socket } from 'node:net';
import type { Logger } from 'pino';

const TELL_EVERY_MS = 60_000;

/** How many connections a listener may have, upgraded ones included. */
export interface ConnectionLimits {
  readonly total: number;
  readonly perAddress: number;
  /** Whether connections of the address count for the total only. */
  readonly isExempt: (address: string) => boolean;
}

/**
 * Closes every connection beyond a limit as soon as it is accepted, and logs that once a minute: a
 * client that fills the listener must not fill the disk as well.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, log: Logger): void {
  const { total, perAddress, isExempt } = limits;
  const tellFull = onceAMinute(() => {
    log.warn({ maxConnections: total }, 'http listener is full: new connections are closed');
  });
  const tellTooMany = onceAMinute((address) => {
    const details = { address, maxConnectionsPerAddress: perAddress };
    log.warn(details, 'an address has too many http connections: new ones are closed');
  });
  const open = new Map<string, number>();
  server.maxConnections = total;
  server.on('drop', () => tellFull(''));
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (isExempt(address)) return;
    const count = open.get(address) ?? 0;
    if (count >= perAddress) {
      tellTooMany(address);
      socket.destroy();
      return;
    }
    open.set(address, count + 1);
    socket.once('close', () => {
      const left = (open.get(address) ?? 0) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
}

function onceAMinute(tell: (address: string) => void): (address: string) => void {
  let isTold = false;
  return (address) => {
    if (isTold) return;
    isTold = true;
    tell(address);
    setTimeout(() => {
      isTold = false;
    }, TELL_EVERY_MS).unref();
  };
}
