import type { LogEntry } from './log-entry.js';

/** A consumer that has more ready than this reads the log instead. */
const MAX_ENTRIES = 500;

/** New entries that were handed to a cursor, and are not taken yet. */
export class LiveQueue {
  #entries: LogEntry[] = [];
  #at = 0;

  get next(): LogEntry | undefined {
    return this.#entries[this.#at];
  }

  get isFull(): boolean {
    return this.#entries.length - this.#at > MAX_ENTRIES;
  }

  add(entry: LogEntry): void {
    this.#entries.push(entry);
  }

  take(): void {
    this.#at++;
    if (this.#at >= this.#entries.length) this.forget();
  }

  forget(): void {
    this.#entries = [];
    this.#at = 0;
  }
}
