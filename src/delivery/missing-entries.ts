import type { Logger } from 'pino';
import { pause } from '../site/pause.js';
import type { LogEntry, LogName, LogReader } from './log-entry.js';

const RETRY_AFTER_MS = 250;

/** Reads stored entries that were never announced, because the store's answer for them was lost. */
export class MissingEntries {
  readonly #reader: Pick<LogReader, 'read'>;
  readonly #log: Logger;
  readonly #stopping = new AbortController();

  constructor(reader: Pick<LogReader, 'read'>, log: Logger) {
    this.#reader = reader;
    this.#log = log;
  }

  /**
   * Yields the entries between two numbers, but for those that are gone.
   *
   * Waits for the store as long as it takes: later entries must not overtake.
   * @throws AbortError once stopped
   */
  async *between(log: LogName, after: number, before: number): AsyncGenerator<LogEntry> {
    for (let last = after; last < before - 1; ) {
      const page = await this.#read(log, last, before - 1 - last);
      const missing = page.filter(({ sequence }) => sequence < before);
      yield* missing;
      // A page may be short because its entries are large; an empty one tells that the rest is gone.
      last = missing.at(-1)?.sequence ?? before;
    }
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #read(log: LogName, after: number, count: number): Promise<LogEntry[]> {
    const { signal } = this.#stopping;
    for (;;) {
      signal.throwIfAborted();
      try {
        return await this.#reader.read(log, after, count);
      } catch (error) {
        this.#log.warn({ err: error, log }, 'failed to read missing log entries, retrying');
        await pause(RETRY_AFTER_MS, signal);
      }
    }
  }
}
