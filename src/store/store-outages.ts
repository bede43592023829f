import type { Logger } from 'pino';

/**
 * Logs the beginning and the end of each outage of the store once.
 *
 * Neither every connection that notices nor every attempt to reconnect is worth a line.
 */
export class StoreOutages {
  readonly #log: Logger;
  /** The connections that are out. */
  readonly #out = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Notes that the connection is out; may be called repeatedly. */
  begin(connection: string, err: Error | undefined): void {
    if (this.#out.has(connection)) return;
    const level = this.#out.size === 0 ? 'error' : 'debug';
    this.#out.add(connection);
    this.#log[level]({ err, connection }, 'failed to reach the store');
  }

  /** Notes that the connection can be used. */
  end(connection: string): void {
    if (!this.#out.delete(connection)) return;
    const level = this.#out.size === 0 ? 'info' : 'debug';
    this.#log[level]({ connection }, 'reached the store again');
  }
}
