import type { LogEntry, LogName, LogReader, Tail } from './log-entry.js';

const PAGE_ENTRIES = 500;

export interface ReadAheadOptions {
  readonly log: LogName;
  readonly tail: Tail;
  readonly reader: LogReader;
  /** Whether the consumer must receive the entry; the answer never changes. */
  readonly concerns: (entry: LogEntry) => boolean;
}

/** Loads pages of a log, from which a cursor takes its next entries. */
export class ReadAhead {
  readonly #options: ReadAheadOptions;
  /** Entries that concern the consumer, and no others. */
  #page: LogEntry[] = [];
  #at = 0;
  /** The log was read up to here. */
  #readUpTo = 0;
  #generation = 0;
  #isLoading = false;

  constructor(options: ReadAheadOptions) {
    this.#options = options;
  }

  get next(): LogEntry | undefined {
    return this.#page[this.#at];
  }

  /** The entries left of the page. */
  get left(): readonly LogEntry[] {
    return this.#page.slice(this.#at);
  }

  /** Up to here, every entry that concerns the consumer is in the page or was taken from it. */
  get readUpTo(): number {
    return this.#readUpTo;
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Whether to load the next page now, so that sending need not wait. */
  get isShort(): boolean {
    const left = this.#page.length - this.#at;
    return left > 0 && left < PAGE_ENTRIES / 2 && this.#readUpTo < this.#options.tail.last;
  }

  take(): void {
    if (this.#at < this.#page.length) this.#at++;
  }

  /** Loads the entries after a sequence and adds them to the page. */
  async load(after: number): Promise<void> {
    const generation = this.#generation;
    const { log, reader, tail, concerns } = this.#options;
    const newest = tail.last;
    this.#isLoading = true;
    try {
      const entries = await reader.read(log, after, PAGE_ENTRIES);
      if (generation !== this.#generation) return;
      // Entries that are stored but not announced are read later.
      const page = entries.filter((entry) => entry.sequence <= newest && concerns(entry));
      this.#page = [...this.left, ...page];
      this.#at = 0;
      const end = entries.at(-1)?.sequence;
      // The page is empty: the entries between were trimmed.
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
