import type { LogEntry } from './log-entry.js';

/** Half of it goes at once: what a reading consumer may lag behind is in memory. */
const MAX_ENTRIES = 20_000;
const MAX_BYTES = 32 * 1024 * 1024;

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

  /** Adds the next entry. After a gap, entries that are in the store no more, it begins anew. */
  append(entry: LogEntry): void {
    if (entry.sequence !== this.#last + 1) this.restart(entry.sequence - 1);
    this.#entries.push(entry);
    this.#bytes += entry.payload.length;
    this.#last = entry.sequence;
    if (this.#entries.length > MAX_ENTRIES || this.#bytes > MAX_BYTES) this.#forgetOlderHalf();
  }

  /** Forgets everything: the store's newest entry is this one. */
  restart(last: number): void {
    this.#entries = [];
    this.#bytes = 0;
    this.#last = last;
  }

  /** The entry that follows this sequence number, undefined when it is not (or no longer) here. */
  entryAfter(sequence: number): LogEntry | undefined {
    const first = this.#entries[0];
    return first === undefined ? undefined : this.#entries[sequence + 1 - first.sequence];
  }

  /** The entries after this sequence number that are here. */
  entriesAfter(sequence: number): LogEntry[] {
    return this.#entries.filter((entry) => entry.sequence > sequence);
  }

  #forgetOlderHalf(): void {
    this.#entries = this.#entries.slice(Math.ceil(this.#entries.length / 2));
    this.#bytes = this.#entries.reduce((bytes, entry) => bytes + entry.payload.length, 0);
  }
}
