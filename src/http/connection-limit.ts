import type { Server, Socket } from 'node:net';
import type { Logger } from 'pino';

/** The limits of a listener's connections, upgraded ones included. */
export interface ConnectionLimits {
  readonly total: number;
  readonly perAddress: number;
  /** Whether connections of the address count only for the total. */
  readonly isExempt: (address: string) => boolean;
}

/** Closes every connection beyond a limit as soon as it is accepted. */
export function limitConnections(server: Server, limits: ConnectionLimits, log: Logger): void {
  const { total, perAddress, isExempt } = limits;
  const open = new Map<string, number>();
  server.maxConnections = total;
  server.on('drop', () => {
    const limit = { maxConnections: total };
    log.warn({ part: 'http', ...limit }, 'http listener is full, closing new connections');
  });
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (isExempt(address)) return;
    const count = open.get(address) ?? 0;
    if (count >= perAddress) {
      const limit = { maxConnectionsPerAddress: perAddress };
      log.warn({ address, ...limit }, 'an address has too many http connections, closing new ones');
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
