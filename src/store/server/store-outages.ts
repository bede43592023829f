import type { Logger } from 'pino';

/** A store that refuses writes still takes connections: an outage ends only after this time without another. */
const ENDED_AFTER_MS = 3_000;

/**
 * Logs the beginning and the end of each outage of the store once.
 *
 * Not every connection that notices, and not every attempt to reconnect, is worth a line.
 */
export class StoreOutages {
  readonly #log: Logger;
  /** The connections now out. */
  readonly #out = new Set<string>();
  readonly #endedAfterMs: number;
  /** The connections that were out in this outage. */
  readonly #told = new Set<string>();
  #ending: NodeJS.Timeout | undefined;

  constructor(log: Logger, endedAfterMs = ENDED_AFTER_MS) {
    this.#log = log;
    this.#endedAfterMs = endedAfterMs;
  }

  /** Notes that the connection is out; may be called repeatedly. */
  begin(connection: string, err: Error | undefined): void {
    clearTimeout(this.#ending);
    this.#out.add(connection);
    if (this.#told.has(connection)) return;
    const level = this.#told.size === 0 ? 'error' : 'debug';
    this.#told.add(connection);
    this.#log[level]({ err, connection }, 'failed to reach the store');
  }

  /** Notes that the connection can be used. */
  end(connection: string): void {
    if (!this.#out.delete(connection) || this.#out.size > 0) return;
    this.#ending = setTimeout(() => {
      this.#told.clear();
      this.#log.info('reached the store again');
    }, this.#endedAfterMs).unref();
  }
}
