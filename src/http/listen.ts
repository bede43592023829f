import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';

export interface BoundAddress {
  readonly address: string;
  readonly port: number;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Present when the server speaks TLS. */
  readonly tls?: object | undefined;
  readonly log: Logger;
}

/** @throws GatewayError `start-failed` when the address cannot be bound */
export function listen(server: Server, options: ListenOptions): Promise<BoundAddress> {
  const { host, port, tls, log } = options;
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const url = `${tls === undefined ? 'http' : 'https'}://${host}:${port}`;
      const reason = 'code' in error ? String(error.code) : error.message;
      const detail = `Cannot listen on ${url}: ${reason}.`;
      reject(new GatewayError('start-failed', detail, { cause: error }));
    });
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      server.on('error', (error) =>
        log.error({ part: 'http', err: error }, 'http listener failed'),
      );
      const bound = server.address();
      if (bound === null || typeof bound === 'string') {
        reject(new GatewayError('start-failed', `${host}:${port} is not a TCP address.`));
      } else {
        resolve({ address: bound.address, port: bound.port });
      }
    });
  });
}
