import type { Server, Socket } from 'node:net';
import type { Logger } from 'pino';

const TELL_EVERY_MS = 60_000;

/** The limits of a listener's connections, upgraded ones included. */
export interface ConnectionLimits {
  readonly total: number;
  readonly perAddress: number;
  /** Whether connections of the address count only for the total. */
  readonly isExempt: (address: string) => boolean;
}

/**
 * Closes every connection beyond a limit as soon as it is accepted.
 *
 * A client that fills the listener must not fill the disk as well, so that is logged once a minute.
 */
export function limitConnections(server: Server, limits: ConnectionLimits, log: Logger): void {
  const { total, perAddress, isExempt } = limits;
  const tellFull = onceAMinute(() => {
    log.warn({ maxConnections: total }, 'http listener is full, closing new connections');
  });
  const tellTooMany = onceAMinute((address) => {
    const details = { address, maxConnectionsPerAddress: perAddress };
    log.warn(details, 'an address has too many http connections, closing new ones');
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
