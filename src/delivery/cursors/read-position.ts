import type { Mark, Unread } from '../backlog/tally.js';
import type { LogEntry, LogName, LogReader, Tail } from '../log/log-entry.js';
import type { SentEntries } from './sent-entries.js';

/** How many entries are read at a time, and how many a live consumer has ready at most. */
const PAGE_ENTRIES = 500;

/** A log as one consumer reads it. */
export interface ReadOptions {
  readonly log: LogName;
  readonly tail: Tail;
  readonly reader: LogReader;
  /** Whether the consumer must receive the entry; the answer never changes. */
  readonly concerns: (entry: LogEntry) => boolean;
}

export interface ReadPositionOptions extends ReadOptions {
  readonly offset: number;
  readonly unread: Unread;
  readonly sent: SentEntries;
}

/**
 * Supplies a cursor's next entry, and jumps over those that are given up.
 *
 * Entries become ready in three ways: live they are handed over, else they come from the tail in
 * memory, and beyond that from pages of the store.
 */
export class ReadPosition {
  readonly #options: ReadPositionOptions;
  /** Every entry up to here was taken or passed. */
  #offset: number;
  /** The next entries that concern the consumer; those before `#at` are taken. */
  #ready: LogEntry[] = [];
  #at = 0;
  /** Up to here, every entry that concerns the consumer is ready or was taken. */
  #readUpTo: number;
  /** Whether every accepted entry after the offset is ready. */
  #isLive = false;
  #isLoading = false;
  /** A page asked for in an earlier generation is of no use. */
  #generation = 0;

  constructor(options: ReadPositionOptions) {
    this.#options = options;
    this.#offset = options.offset;
    this.#readUpTo = options.offset;
  }

  get offset(): number {
    return this.#offset;
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** Whether nothing is unread, and nothing sent ahead is in flight. */
  get isCaughtUp(): boolean {
    const { unread, sent } = this.#options;
    return unread.count <= 0 && sent.aheadCount === 0;
  }

  /** Whether a page is being loaded. */
  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Whether a page is being loaded, and none of the entries before it is left. */
  get isHeldUp(): boolean {
    return this.#isLoading && !this.#isLive && this.#left === 0;
  }

  /** Whether to load the next page now, so that sending need not wait. */
  get wantsPage(): boolean {
    if (this.#isLive || this.#left === 0 || this.#left >= PAGE_ENTRIES / 2) return false;
    const { tail } = this.#options;
    return this.#readUpTo < tail.last && tail.entryAfter(this.#readUpTo) === undefined;
  }

  /**
   * The lowest target of a jump.
   *
   * No jump ends where the entries that are done with are known one by one.
   */
  get #firstTarget(): number {
    return Math.max(this.#offset, this.#options.sent.knownUpTo);
  }

  get #left(): number {
    return this.#ready.length - this.#at;
  }

  /** Hands over the newest accepted entry; only a live consumer takes it. */
  offer(entry: LogEntry): void {
    if (this.#left >= PAGE_ENTRIES) this.#isLive = false;
    if (!this.#isLive) return;
    this.#ready.push(entry);
    this.#readUpTo = entry.sequence;
  }

  /** The next entry in memory. */
  next(): LogEntry | undefined {
    if (this.#left === 0 && !this.#isLive) this.#readTail();
    return this.#ready[this.#at];
  }

  /** Takes the next entry. Returns whether it is to be sent. */
  take(entry: LogEntry): boolean {
    this.#at++;
    if (this.#left === 0) this.#setReady([]);
    else if (this.#at >= PAGE_ENTRIES) this.#setReady(this.#ready.slice(this.#at));
    this.#offset = entry.sequence;
    const { sent, unread } = this.#options;
    if (!sent.pass(entry)) return false;
    unread.read(entry.payload.length);
    return true;
  }

  /** Reads the log once memory has no more. Returns whether the log has entries to load. */
  switchToLog(): boolean {
    const isMore = this.#readUpTo < this.#options.tail.last;
    if (isMore) this.#isLive = false;
    return isMore;
  }

  /** Loads the next page from the store. */
  async load(): Promise<void> {
    const generation = this.#generation;
    const { log, reader, tail, sent, concerns } = this.#options;
    const newest = tail.last;
    this.#isLoading = true;
    try {
      const page = await reader.read(log, sent.nextFrom(this.#readUpTo), PAGE_ENTRIES);
      if (generation !== this.#generation) return;
      // Entries that are stored but not announced are read later.
      const concerned = page.filter((entry) => entry.sequence <= newest && concerns(entry));
      this.#setReady([...this.#ready.slice(this.#at), ...concerned]);
      // An empty page: the entries between were trimmed.
      this.#readUpTo = Math.min(page.at(-1)?.sequence ?? newest, newest);
    } finally {
      this.#isLoading = false;
    }
  }

  /** Passes the whole log; from now on every accepted entry is handed over. */
  goLive(): void {
    this.#passAll();
    this.#options.unread.setLeft(0, 0);
    this.#isLive = true;
  }

  /** Follows the end of the log while nothing in it concerns the consumer. */
  followEnd(): void {
    if (this.isCaughtUp && !this.#isLive) this.#passAll();
  }

  /** Goes on from this offset. */
  goTo(offset: number): void {
    this.#generation++;
    this.#offset = offset;
    this.#readUpTo = offset;
    this.#setReady([]);
    this.#isLive = false;
  }

  /** Jumps over entries received before this time. Returns how many of them were unread. */
  passOlder(timeMs: number): number {
    return this.#jumpTo(this.#options.unread.markBefore(timeMs, this.#firstTarget));
  }

  /**
   * Jumps over the oldest entries beyond the bounds.
   *
   * The entries that are ready are kept, unless they take more than half of a bound.
   * @returns how many of them were unread
   */
  passBeyond(maxCount: number, maxBytes: number): number {
    const passed = this.#jumpBehindReady(maxCount, maxBytes);
    if (passed > 0) return passed;
    const [count, bytes] = [Math.max(0, maxCount), Math.max(0, maxBytes)];
    return this.#jumpTo(this.#options.unread.markLeaving(count, bytes, this.#firstTarget));
  }

  #jumpTo(mark: Mark | undefined): number {
    if (mark === undefined) return 0;
    const { unread, sent } = this.#options;
    const { count, bytes } = unread.after(mark);
    const left = Math.max(0, count - sent.aheadAfter(mark.sequence));
    const passed = unread.count - left;
    if (passed <= 0) return 0;
    unread.setLeft(left, bytes);
    sent.passAllUpTo(mark.sequence);
    this.goTo(mark.sequence);
    return passed;
  }

  #jumpBehindReady(maxCount: number, maxBytes: number): number {
    const { unread, sent } = this.#options;
    if (this.#left === 0 || sent.aheadCount > 0) return 0;
    const kept = this.#ready.slice(this.#at).filter(({ sequence }) => sent.isOpen(sequence));
    const keptBytes = kept.reduce((sum, { payload }) => sum + payload.length, 0);
    if (kept.length > maxCount / 2 || keptBytes > maxBytes / 2) return 0;
    const from = Math.max(this.#firstTarget, this.#readUpTo);
    const mark = unread.markLeaving(maxCount - kept.length, maxBytes - keptBytes, from);
    if (mark === undefined) return 0;
    const { count, bytes } = unread.after(mark);
    const passed = unread.count - kept.length - count;
    if (passed <= 0) return 0;
    unread.setLeft(kept.length + count, keptBytes + bytes);
    sent.keepOnly({ upTo: mark.sequence, sequences: kept.map(({ sequence }) => sequence) });
    return passed;
  }

  /** Makes the entries ready that the tail has next. */
  #readTail(): void {
    const { sent, tail, concerns } = this.#options;
    this.#offset = sent.nextFrom(this.#readUpTo);
    this.#readUpTo = this.#offset;
    const found: LogEntry[] = [];
    while (found.length < PAGE_ENTRIES) {
      const entry = tail.entryAfter(this.#readUpTo);
      if (entry === undefined) break;
      if (concerns(entry)) found.push(entry);
      this.#readUpTo = entry.sequence;
    }
    this.#setReady(found);
  }

  #passAll(): void {
    const { tail, sent } = this.#options;
    sent.passAll();
    this.goTo(Math.max(this.#offset, tail.last));
  }

  #setReady(entries: LogEntry[]): void {
    this.#ready = entries;
    this.#at = 0;
  }
}
