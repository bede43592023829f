import type { Server } from 'node:net';
import type { Logger } from 'pino';
import { GatewayError, systemErrorCode } from '../errors.js';

/**
 * Connections that the kernel completes ahead of us; it cuts the number to `net.core.somaxconn`.
 *
 * With Node's 511 it drops handshakes when all devices of a box reconnect together, and each of these
 * comes again seconds later.
 */
const LISTEN_BACKLOG = 65_535;

export interface BoundAddress {
  readonly address: string;
  readonly port: number;
}

export interface ListenOptions {
  readonly protocol: 'mqtt' | 'mqtts' | 'http' | 'https';
  readonly host: string;
  /** The port; 0 picks a free one. */
  readonly port: number;
  readonly log: Logger;
}

/** The error codes of a machine without IPv6. */
const NO_IPV6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'];

/**
 * Listens at the address; at `::` for IPv6 and IPv4, or only IPv4 if the machine has no IPv6.
 *
 * @throws GatewayError `start-failed` when the address cannot be bound
 */
export async function listen(server: Server, options: ListenOptions): Promise<BoundAddress> {
  try {
    return await listenAt(server, options);
  } catch (error) {
    const code = error instanceof GatewayError ? systemErrorCode(error.cause) : undefined;
    if (options.host !== '::' || code === undefined || !NO_IPV6.includes(code)) throw error;
    return await listenAt(server, { ...options, host: '0.0.0.0' });
  }
}

function listenAt(server: Server, options: ListenOptions): Promise<BoundAddress> {
  const { protocol, host, port, log } = options;
  const place = `${protocol}://${host}:${port}`;
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const reason = 'code' in error ? String(error.code) : error.message;
      const detail = `Cannot listen on ${place}: ${reason}.`;
      reject(new GatewayError('start-failed', detail, { cause: error }));
    });
    server.listen({ host, port, backlog: LISTEN_BACKLOG }, () => {
      server.removeAllListeners('error');
      server.on('error', (error) => log.error({ part: protocol, err: error }, 'listener failed'));
      const bound = server.address();
      if (bound === null || typeof bound === 'string') {
        reject(new GatewayError('start-failed', `${place} is not a TCP address.`));
      } else {
        resolve({ address: bound.address, port: bound.port });
      }
    });
  });
}
