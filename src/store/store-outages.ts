import type { Logger } from 'pino';

/**
 * Logs each outage of the store once, and its end: not for every connection that notices, nor every
 * attempt to connect in between.
 */
export class StoreOutages {
  readonly #log: Logger;
  /** The connections that are out. */
  readonly #out = new Set<string>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** The connection is out; called as often as it shows. */
  begin(connection: string, err: Error | undefined): void {
    if (this.#out.has(connection)) return;
    const level = this.#out.size === 0 ? 'error' : 'debug';
    this.#out.add(connection);
    this.#log[level]({ err, connection }, 'the store is unreachable');
  }

  /** The connection can be used. */
  end(connection: string): void {
    if (!this.#out.delete(connection)) return;
    const level = this.#out.size === 0 ? 'info' : 'debug';
    this.#log[level]({ connection }, 'the store is reachable again');
  }
}
