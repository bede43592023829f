import type { Duplex } from 'node:stream';
import type { ConnectionQuota, Held } from './connection-quota.js';

export interface SilentConnectionsOptions {
  readonly timeoutMs: number;
  readonly quota: ConnectionQuota;
  /** Called when a connection is closed because nothing came on it. */
  readonly onTimeout: (address: string) => void;
}

/**
 * Waits for the first byte of each connection.
 *
 * Until then a connection costs its socket only, so thousands that send nothing delay no other client.
 */
export class SilentConnections {
  readonly #options: SilentConnectionsOptions;
  readonly #streams = new Set<Duplex>();

  constructor(options: SilentConnectionsOptions) {
    this.#options = options;
  }

  /** Serves the connection once its first bytes have arrived. */
  wait(stream: Duplex, address: string, serve: () => void): void {
    const { timeoutMs, quota, onTimeout } = this.#options;
    const held: Held = {
      address,
      keepAliveMs: Number.POSITIVE_INFINITY,
      silentMs: 0,
      timeOut: () => stream.destroy(),
      drop: () => stream.destroy(),
    };
    const timer = setTimeout(() => {
      quota.timedOut(held);
      stream.destroy();
      onTimeout(address);
    }, timeoutMs);
    const leave = () => {
      clearTimeout(timer);
      stream.off('readable', begin);
      stream.off('close', leave);
      this.#streams.delete(stream);
      quota.left(held);
    };
    const begin = () => {
      if (stream.readableLength > 0) {
        leave();
        serve();
      } else {
        // At the end of the stream, this read makes it emit `end`.
        stream.read();
      }
    };
    stream.on('readable', begin).once('close', leave);
    this.#streams.add(stream);
    quota.arrived(held);
  }

  /** Ends the connections that have sent nothing. */
  stop(): void {
    for (const stream of this.#streams) stream.destroy();
  }
}
