import type { LogEntry } from '../log/log-entry.js';
import { bytesOfMessage } from '../log/log-entry.js';
import type { QueuePage } from './queue-store.js';

const PAGE_ENTRIES = 500;
/** The next page is read when fewer entries than this are left to send. */
const READ_AHEAD_ENTRIES = 250;
/** Entries beyond these bounds are read from the store later. */
const MAX_READY_ENTRIES = 5_000;
const MAX_READY_BYTES = 4 * 1024 * 1024;

export interface QueueReaderOptions {
  /** Reads a page of the queue after an item. */
  readonly page: (after: number, count: number) => Promise<QueuePage>;
  /** Whether the entry has been announced. A failover may still lose one that has not. */
  readonly isAnnounced: (sequence: number) => boolean;
  /** Whether the item is in flight, or acknowledged but not yet settled. */
  readonly isTaken: (item: number) => boolean;
  /** How many entries may be ready, if fewer than `MAX_READY_ENTRIES`. */
  readonly maxReady: () => number;
  /** Called with items whose record is gone. */
  readonly onMissing: (items: readonly number[]) => void;
}

/**
 * Reads one queue for one connection: in pages from the store while behind, from announcements while live.
 *
 * It goes live once a page reaches the end of the queue, and adds what was announced during that read. It
 * falls behind when too much is ready: everything is in the queue anyway.
 */
export class QueueReader {
  readonly #options: QueueReaderOptions;
  readonly #ready = new ReadyEntries();
  #lastLoaded = 0;
  #isLive = false;
  #isLoading = false;
  /** Entries announced while a page is being read; undefined when there are too many. */
  #meanwhile: LogEntry[] | undefined = [];
  /** Rises on each restart: a page requested before is not used. */
  #run = 0;

  constructor(options: QueueReaderOptions) {
    this.#options = options;
  }

  /** The last item that became ready or was passed over; 0 for none. */
  get lastLoaded(): number {
    return this.#lastLoaded;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  get readyCount(): number {
    return this.#ready.count;
  }

  /** Whether to read a page. */
  get wantsPage(): boolean {
    return !this.#isLive && this.#ready.count < READ_AHEAD_ENTRIES;
  }

  /** Starts again at the head of the queue. */
  restart(): void {
    this.#run++;
    this.#ready.clear();
    this.#lastLoaded = 0;
    this.#isLive = false;
    this.#isLoading = false;
    this.#meanwhile = [];
  }

  /** Offers an entry just pushed onto the queue. */
  offer(entry: LogEntry): void {
    if (this.#isLive) this.#add(entry);
    else if (this.#isLoading && this.#meanwhile !== undefined) {
      this.#meanwhile.push(entry);
      if (this.#meanwhile.length > MAX_READY_ENTRIES) this.#meanwhile = undefined;
    }
  }

  /** The next entry; undefined when none is ready. It stays the next until `shift`. */
  get next(): LogEntry | undefined {
    return this.#ready.first;
  }

  /** Moves past the next entry. */
  shift(): void {
    this.#ready.shift();
  }

  /** Reads the next page. */
  async load(): Promise<void> {
    const run = this.#run;
    this.#isLoading = true;
    this.#meanwhile = [];
    try {
      const page = await this.#options.page(this.#lastLoaded, PAGE_ENTRIES);
      if (run === this.#run) this.#take(page);
    } finally {
      if (run === this.#run) this.#isLoading = false;
    }
  }

  #take({ entries, missing, isEnd }: QueuePage): void {
    const { isAnnounced, isTaken, onMissing } = this.#options;
    const announced = entries.filter(({ sequence }) => isAnnounced(sequence));
    for (const entry of announced) {
      this.#lastLoaded = Math.max(this.#lastLoaded, entry.item);
      if (!isTaken(entry.item)) this.#ready.push(entry);
    }
    if (missing.length > 0) {
      this.#lastLoaded = Math.max(this.#lastLoaded, ...missing);
      onMissing(missing);
    }
    // The entries after the last announced one will be announced too.
    const isAtEnd = isEnd || announced.length < entries.length;
    const meanwhile = this.#meanwhile;
    this.#meanwhile = [];
    if (!isAtEnd || meanwhile === undefined) return;
    this.#isLive = true;
    for (const entry of meanwhile) this.#add(entry);
  }

  /** Adds an entry while live; falls behind if it has no room. */
  #add(entry: LogEntry): void {
    if (!this.#isLive || entry.item <= this.#lastLoaded) return;
    const maxReady = Math.min(MAX_READY_ENTRIES, this.#options.maxReady());
    if (this.#ready.count >= maxReady || this.#ready.bytes >= MAX_READY_BYTES) {
      this.#isLive = false;
      return;
    }
    this.#lastLoaded = entry.item;
    this.#ready.push(entry);
  }
}

/** Entries in sending order, and their bytes: payload and properties. */
export class ReadyEntries {
  #entries: LogEntry[] = [];
  /** How many entries at the front are gone. */
  #passed = 0;
  #bytes = 0;

  get count(): number {
    return this.#entries.length - this.#passed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get first(): LogEntry | undefined {
    return this.#entries[this.#passed];
  }

  push(entry: LogEntry): void {
    this.#entries.push(entry);
    this.#bytes += bytesOfMessage(entry);
  }

  shift(): LogEntry | undefined {
    const entry = this.first;
    if (entry === undefined) return undefined;
    this.#passed++;
    this.#bytes -= bytesOfMessage(entry);
    // Half of the array at a time: moving the rest costs more than passing one.
    if (this.#passed * 2 >= this.#entries.length) {
      this.#entries = this.#entries.slice(this.#passed);
      this.#passed = 0;
    }
    return entry;
  }

  clear(): void {
    this.#entries = [];
    this.#passed = 0;
    this.#bytes = 0;
  }
}
