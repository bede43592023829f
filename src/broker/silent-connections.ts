import type { Duplex } from 'node:stream';
import type { ConnectionQuota, Held } from './connection-quota.js';
import { PacedClosing } from './paced-closing.js';

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
  readonly #waiting = new Set<Held>();
  readonly #closing = new PacedClosing();

  constructor(options: SilentConnectionsOptions) {
    this.#options = options;
  }

  /** Serves the connection once its first bytes have arrived. */
  wait(stream: Duplex, address: string, serve: () => void): void {
    const { timeoutMs, quota, onTimeout } = this.#options;
    const drop = () => {
      leave();
      stream.destroy();
    };
    const held: Held = {
      ...{ address, keepAliveMs: Number.POSITIVE_INFINITY, silentMs: 0 },
      ...{ timeOut: drop, drop },
    };
    const timer = setTimeout(() => {
      this.#closing.close(stream);
      onTimeout(address);
    }, timeoutMs);
    // Otherwise Node closes the connection as soon as the client has ended it, and not in its turn.
    const { allowHalfOpen } = stream;
    stream.allowHalfOpen = true;
    const leave = () => {
      stream.allowHalfOpen = allowHalfOpen;
      clearTimeout(timer);
      stream.off('readable', begin);
      stream.off('close', end);
      this.#waiting.delete(held);
      quota.left(held);
    };
    const end = () => {
      quota.endedSilent(held);
      leave();
    };
    const begin = () => {
      if (stream.readableLength > 0) {
        leave();
        serve();
      } else {
        // The client has ended the connection; there is nothing to say.
        this.#closing.close(stream);
      }
    };
    stream.on('readable', begin).once('close', end);
    this.#waiting.add(held);
    quota.arrived(held);
  }

  /** Ends the connections that have sent nothing. */
  stop(): void {
    for (const held of this.#waiting) held.drop();
  }
}
