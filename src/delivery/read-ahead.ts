import type { LogEntry, LogName, LogReader, Tail } from './log-entry.js';

const PAGE_ENTRIES = 500;

export interface ReadAheadOptions {
  readonly log: LogName;
  readonly tail: Tail;
  readonly reader: LogReader;
  /** Whether the consumer is to receive the entry; the same whenever it is asked. */
  readonly concerns: (entry: LogEntry) => boolean;
}

/** Pages of the store that a cursor takes its next entries from. */
export class ReadAhead {
  readonly #options: ReadAheadOptions;
  /** Only what concerns the consumer. */
  #page: LogEntry[] = [];
  #at = 0;
  /** Up to here the log was read. */
  #readUpTo = 0;
  #generation = 0;
  #isLoading = false;

  constructor(options: ReadAheadOptions) {
    this.#options = options;
  }

  get next(): LogEntry | undefined {
    return this.#page[this.#at];
  }

  /** What is left of the page. */
  get left(): readonly LogEntry[] {
    return this.#page.slice(this.#at);
  }

  /** Up to here, everything that concerns the consumer is in the page or was taken from it. */
  get readUpTo(): number {
    return this.#readUpTo;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Whether the page should be followed up by now, so that sending need not wait. */
  get isShort(): boolean {
    const left = this.#page.length - this.#at;
    return left > 0 && left < PAGE_ENTRIES / 2 && this.#readUpTo < this.#options.tail.last;
  }

  take(): void {
    if (this.#at < this.#page.length) this.#at++;
  }

  /** Loads what follows a sequence from the store, and puts that behind what is left of the page. */
  async load(after: number): Promise<void> {
    const generation = this.#generation;
    const { log, reader, tail, concerns } = this.#options;
    const newest = tail.last;
    this.#isLoading = true;
    try {
      const entries = await reader.read(log, after, PAGE_ENTRIES);
      if (generation !== this.#generation) return;
      // What is stored but not announced yet is read once it has been.
      const page = entries.filter((entry) => entry.sequence <= newest && concerns(entry));
      this.#page = [...this.left, ...page];
      this.#at = 0;
      const end = entries.at(-1)?.sequence;
      // Nothing there: what was between has been trimmed.
      this.#readUpTo = end === undefined ? newest : Math.min(end, newest);
    } finally {
      this.#isLoading = false;
    }
  }

  forget(): void {
    this.#generation++;
    this.#page = [];
    this.#at = 0;
    this.#readUpTo = 0;
  }
}
