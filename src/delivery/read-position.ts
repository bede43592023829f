import type { Jump, Standing } from './jumps.js';
import type { LogEntry } from './log-entry.js';
import { ReadAhead, type ReadAheadOptions } from './read-ahead.js';
import type { SentEntries } from './sent-entries.js';
import type { Unread } from './tally.js';

/** A consumer that has more ready than this reads the log instead. */
const MAX_LIVE_ENTRIES = 500;

export interface ReadPositionOptions extends ReadAheadOptions {
  readonly offset: number;
  readonly unread: Unread;
  readonly sent: SentEntries;
}

/** Supplies a cursor's next entry: live, from the tail, or from pages. */
export class ReadPosition {
  readonly #options: ReadPositionOptions;
  readonly #live = new LiveQueue();
  readonly #page: ReadAhead;
  /** Every entry up to here was read or passed. */
  #offset: number;
  /** Whether every accepted entry after the offset is in `#live`. */
  #isLive = false;

  constructor(options: ReadPositionOptions) {
    this.#options = options;
    this.#offset = options.offset;
    this.#page = new ReadAhead(options);
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

  get standing(): Standing {
    const { unread, sent } = this.#options;
    return { offset: this.#offset, unread, sent, page: this.#page };
  }

  get isLoading(): boolean {
    return this.#page.isLoading;
  }

  /** Whether to load the next page now. */
  get wantsPage(): boolean {
    return !this.#isLive && this.#page.isShort;
  }

  /** Whether the next entry is in memory already. */
  get hasPage(): boolean {
    return this.#isLive || this.#page.next !== undefined;
  }

  /** The next entry in memory. */
  get next(): LogEntry | undefined {
    if (this.#isLive) return this.#live.next;
    const { next, readUpTo } = this.#page;
    if (next !== undefined) return next;
    const { sent, tail } = this.#options;
    this.#offset = sent.nextFrom(Math.max(this.#offset, readUpTo));
    return tail.entryAfter(this.#offset);
  }

  /** Queues the newest accepted entry while live. */
  offer(entry: LogEntry): void {
    if (!this.#isLive) return;
    this.#live.add(entry);
    if (!this.#live.isFull) return;
    const { next } = this.#live;
    this.goTo(next === undefined ? this.#offset : next.sequence - 1);
  }

  /** Passes the entry, which was the next. Returns whether it is to be sent. */
  take(entry: LogEntry): boolean {
    if (this.#isLive) this.#live.take();
    else this.#page.take();
    const { sequence, payload } = entry;
    if (sequence <= this.#offset) return false;
    this.#offset = sequence;
    const isToSend = this.#isLive || this.isPending(entry);
    const { sent, unread } = this.#options;
    if (sent.pass(entry) || !isToSend) return false;
    unread.read(payload.length);
    return true;
  }

  /** Whether the entry concerns the consumer and is neither in flight nor done with. */
  isPending(entry: LogEntry): boolean {
    return this.#options.sent.isOpen(entry.sequence) && this.#options.concerns(entry);
  }

  /** Reads the log once memory has no more. Returns whether the log has entries to load. */
  switchToLog(): boolean {
    const isMore = this.#offset < this.#options.tail.last;
    if (isMore) this.#isLive = false;
    return isMore;
  }

  async load(): Promise<void> {
    const { next, readUpTo } = this.#page;
    const after = next === undefined ? this.#offset : Math.max(this.#offset, readUpTo);
    await this.#page.load(this.#options.sent.nextFrom(after));
  }

  goLive(): void {
    this.#passAll();
    this.#options.unread.setLeft(0, 0);
    this.#isLive = true;
  }

  /** Follows the end of the log while nothing in it concerns the consumer. */
  followEnd(): void {
    if (this.isCaughtUp && !this.#isLive) this.#passAll();
  }

  goTo(offset: number): void {
    this.#offset = offset;
    this.#forget();
  }

  /** Makes a jump. Returns how many unread entries it passes. */
  jump(jump: Jump | undefined): number {
    const { unread, sent } = this.#options;
    const before = unread.count;
    if (jump === undefined || jump.left.count >= before) return 0;
    const { mark, left, page } = jump;
    unread.setLeft(left.count, left.bytes);
    if (page === undefined) {
      sent.passAllUpTo(mark.sequence, mark.receivedAtMs);
      this.goTo(mark.sequence);
    } else {
      const sequences = page.map(({ sequence }) => sequence);
      sent.keepOnly({ upTo: mark.sequence, sequences });
    }
    return before - left.count;
  }

  #passAll(): void {
    const { tail, sent } = this.#options;
    this.#offset = Math.max(this.#offset, tail.last);
    sent.passAll();
    this.#forget();
  }

  #forget(): void {
    this.#isLive = false;
    this.#live.forget();
    this.#page.forget();
  }
}

/** New entries that were handed to a cursor, and are not taken yet. */
class LiveQueue {
  #entries: LogEntry[] = [];
  #at = 0;

  get next(): LogEntry | undefined {
    return this.#entries[this.#at];
  }

  get isFull(): boolean {
    return this.#entries.length - this.#at > MAX_LIVE_ENTRIES;
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
