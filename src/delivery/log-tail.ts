import type { LogEntry } from './log-entry.js';

const MAX_ENTRIES = 2_000;
const MAX_BYTES = 16 * 1024 * 1024;

/** The newest entries of a log in memory: whoever has caught up is served from here. */
export class LogTail {
  #entries: LogEntry[] = [];
  #bytes = 0;
  #last: number;

  /** @param last the sequence number of the newest entry in the store */
  constructor(last: number) {
    this.#last = last;
  }

  /** The sequence number of the newest entry. */
  get last(): number {
    return this.#last;
  }

  /**
   * Adds what was just stored. After a gap, an entry whose answer was lost on the way from the
   * store, the tail begins anew, and whoever had not read that far reads the store.
   */
  append(entry: LogEntry): void {
    if (entry.sequence !== this.#last + 1) this.#clear();
    this.#entries.push(entry);
    this.#bytes += entry.payload.length;
    this.#last = entry.sequence;
    if (this.#entries.length > MAX_ENTRIES || this.#bytes > MAX_BYTES) this.#forgetOlderHalf();
  }

  /** The entry that follows this sequence number, undefined when it is not (or no longer) here. */
  entryAfter(sequence: number): LogEntry | undefined {
    const first = this.#entries[0];
    return first === undefined ? undefined : this.#entries[sequence + 1 - first.sequence];
  }

  #clear(): void {
    this.#entries = [];
    this.#bytes = 0;
  }

  #forgetOlderHalf(): void {
    this.#entries = this.#entries.slice(Math.ceil(this.#entries.length / 2));
    this.#bytes = this.#entries.reduce((bytes, entry) => bytes + entry.payload.length, 0);
  }
}
