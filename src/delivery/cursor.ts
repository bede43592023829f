import { Account } from './account.js';
import type { CursorState } from './cursor-state.js';
import { firstTarget, jumpLeaving, jumpOverOlder } from './jumps.js';
import type { LogEntry, LogName } from './log-entry.js';
import type { ReadAheadOptions } from './read-ahead.js';
import { ReadPosition } from './read-position.js';
import { SentEntries } from './sent-entries.js';
import { type Tally, Unread } from './tally.js';

const PAGE_ENTRIES = 500;

export interface CursorOptions extends ReadAheadOptions {
  readonly state: CursorState;
}

/**
 * One consumer's position in one log: ack floor, offset, in flight.
 *
 * A live cursor is handed each new entry; a lagging one reads the tail in memory or pages of the
 * store. Either way entries come in order, so that nothing new overtakes the backlog (CONTRACT
 * 4.3). Each accepted entry is unread, in flight, delivered, expired or dropped, and `accepted` is
 * their sum (CONTRACT 4.6).
 */
export class Cursor {
  readonly log: LogName;
  readonly #options: CursorOptions;
  readonly #position: ReadPosition;
  readonly #sent: SentEntries;
  readonly #unread: Unread;
  readonly #account: Account;
  #toSkip: number;
  #countedUpTo: number;

  constructor(options: CursorOptions) {
    const { log, state } = options;
    this.log = log;
    this.#options = options;
    this.#sent = new SentEntries(state);
    this.#unread = new Unread(state.unread ?? 0, state.unreadBytes ?? 0);
    const parts = { sent: this.#sent, unread: this.#unread };
    this.#position = new ReadPosition({ ...options, ...parts, offset: state.ackFloor });
    this.#account = new Account(state);
    this.#toSkip = state.toSkip ?? 0;
    this.#countedUpTo = state.countedUpTo ?? state.ackFloor;
  }

  get offset(): number {
    return this.#position.offset;
  }

  /** Entries accepted and not read yet. */
  get unread(): number {
    return this.#unread.count;
  }

  /** Entries in flight that were sent in their turn. */
  get inFlightCount(): number {
    return this.#sent.inTurnCount;
  }

  get inFlightBytes(): number {
    return this.#sent.amount.bytes;
  }

  /** Accepted entries that are unread or in flight. */
  get queued(): number {
    return this.#unread.count + this.#sent.inTurnCount + this.#sent.aheadCount;
  }

  /** Bytes of payload of the queued entries. */
  get queuedBytes(): number {
    return this.#unread.bytes + this.#sent.amount.bytes;
  }

  get delivered(): number {
    return this.#account.delivered;
  }

  get expired(): number {
    return this.#account.expired;
  }

  get dropped(): number {
    return this.#account.dropped;
  }

  /** The dropped entries that the receiver never takes. */
  get deadLetterCount(): number {
    return this.#account.deadLetters;
  }

  get accepted(): number {
    return this.queued + this.#account.total;
  }

  /** The ack floor: every entry up to here is done with, or does not concern the consumer. */
  get ackFloor(): number {
    const { oldest } = this.#sent;
    if (oldest !== undefined) return oldest - 1;
    return this.#position.isCaughtUp ? this.#options.tail.last : this.#position.offset;
  }

  get state(): CursorState {
    const { ackFloor } = this;
    return {
      ackFloor,
      ...this.#account.state,
      unread: this.queued,
      unreadBytes: this.queuedBytes,
      countedUpTo: this.#options.tail.last,
      ...this.#sent.stateAt(ackFloor, this.#position.offset, this.#position.isCaughtUp),
    };
  }

  /**
   * Counts by this tally from now on.
   *
   * @param marksFrom the sequence from which on its marks count what this consumer accepts
   */
  follow(tally: Tally, marksFrom: number): void {
    this.#unread.follow(tally, marksFrom);
  }

  /** Allows jumps over entries from before the start: their marks are set. */
  marked(): void {
    this.#unread.marked();
  }

  /** Hands over the newest accepted entry while the consumer is connected. */
  offer(entry: LogEntry): void {
    this.#position.offer(entry);
  }

  /** Goes live at the start of a connection, unless entries are queued. */
  start(): void {
    if (this.#position.isCaughtUp) this.#position.goLive();
  }

  /** The next entry to send; `not-loaded` when more must be loaded from the store first. */
  next(expiredBeforeMs: number): LogEntry | 'caught-up' | 'not-loaded' {
    const position = this.#position;
    while (!position.isCaughtUp) {
      const { next } = position;
      if (next === undefined) {
        if (position.switchToLog()) return 'not-loaded';
        // The log ends before everything accepted was found: it was trimmed, or lost.
        this.#account.expired += this.#forgetUnread();
        break;
      }
      if (position.take(next)) {
        if (next.receivedAtMs >= expiredBeforeMs) return next;
        this.#account.expired++;
      }
    }
    if (!position.isLive) position.goLive();
    return 'caught-up';
  }

  /** Whether to load the next page now, so that sending need not wait. */
  get wantsPage(): boolean {
    return this.#position.wantsPage;
  }

  /** Whether the next entry is in memory already. */
  get hasPage(): boolean {
    return this.#position.hasPage;
  }

  /** Loads the next page from the store. */
  async load(): Promise<void> {
    await this.#position.load();
  }

  /** Whether the entry concerns the consumer and is neither in flight nor done with. */
  isPending(entry: LogEntry): boolean {
    return this.#position.isPending(entry);
  }

  /** Whether the entry may still be read, or sent again after a broken connection. */
  needs(entry: LogEntry): boolean {
    if (this.#position.isCaughtUp && this.#sent.inTurnCount === 0) return false;
    return entry.sequence > this.ackFloor && this.#options.concerns(entry);
  }

  /** The oldest queued entry; undefined also when not among the next ones. */
  async oldestQueued(): Promise<LogEntry | undefined> {
    if (this.queued === 0) return undefined;
    const entries = await this.#options.reader.read(this.log, this.ackFloor, PAGE_ENTRIES);
    return entries.find((one) => this.#sent.isInFlight(one.sequence) || this.isPending(one));
  }

  /** Marks the entry as in flight. Returns whether it was sent before. */
  sent(entry: LogEntry): boolean {
    return this.#sent.send(entry);
  }

  /** Marks an entry after the offset as sent before its turn. */
  sentAhead(entry: LogEntry): void {
    this.#unread.read(entry.payload.length);
    this.#sent.sendAhead(entry);
  }

  acknowledged(sequence: number): void {
    if (this.#sent.complete(sequence)) this.#account.delivered++;
  }

  /** Drops a sent entry that the receiver never takes, also after a rewind. */
  deadLetter(sequence: number): void {
    if (!this.#sent.complete(sequence)) {
      if (sequence <= this.#position.offset || !this.#sent.cancelResend(sequence)) return;
      this.#unread.read(0);
    }
    this.#account.dropped++;
    this.#account.deadLetters++;
  }

  /**
   * Drops the oldest unread entries beyond the bounds, by a jump that reads none of them.
   *
   * Deliveries go on however fast the log is fed: a page in memory is sent before the entries that
   * the jump leads to, and nothing is dropped while a page is being loaded, which would be useless
   * then.
   * @returns whether any were dropped
   */
  dropBeyond(maxCount: number, maxBytes: number): boolean {
    const { count, bytes } = this.#unread;
    if ((count <= maxCount && bytes <= maxBytes) || this.#position.isLoading) return false;
    const dropped = this.#position.jump(jumpLeaving(this.#position.standing, maxCount, maxBytes));
    this.#account.dropped += dropped;
    return dropped > 0;
  }

  /** Expires entries received before this time. Returns whether there were any. */
  expireBefore(timeMs: number): boolean {
    const unread = this.#position.jump(jumpOverOlder(this.#position.standing, timeMs));
    // A client that never acknowledges must not hold the log.
    const inFlight = this.#sent.expireBefore(timeMs);
    this.#account.expired += unread + inFlight;
    return unread + inFlight > 0;
  }

  /** Follows the end of the log while nothing in it concerns the consumer. */
  followEnd(): void {
    this.#position.followEnd();
  }

  /** Goes back to the ack floor; unacknowledged entries are sent again. */
  rewind(): void {
    const { ackFloor } = this;
    const { count, bytes } = this.#sent.rewind(this.#position.offset);
    this.#unread.add(count, bytes);
    this.#position.goTo(ackFloor);
  }

  /** Follows a store that lost its newest entries and numbers anew from here. */
  storeWentBack(sequence: number): void {
    const hadReadMore = this.#position.offset >= sequence;
    const hasCompleted = this.#sent.knownUpTo > sequence;
    this.#cutAt(sequence, this.#sent.aheadAfter(sequence), hasCompleted);
    if (hadReadMore) this.#account.expired += this.#forgetUnread();
  }

  /** The newest entry when the unread entries were counted. */
  get countedUpTo(): number {
    return this.#countedUpTo;
  }

  /**
   * Begins the recount at start: unread entries are counted up to here at least.
   *
   * A log that ends earlier has lost its newest entries: then all after the floor are counted
   * again.
   * @returns whether the store has lost entries
   */
  beginCount(countedUpTo: number): boolean {
    const { last } = this.#options.tail;
    this.#countedUpTo = Math.max(this.#countedUpTo, countedUpTo);
    if (this.#countedUpTo <= last) return false;
    // Nothing that was lost has been counted yet by a tally.
    this.#cutAt(last, 0, false);
    this.#countedUpTo = this.#position.offset;
    this.#account.missed(this.#forgetUnread());
    return true;
  }

  /**
   * Counts an entry at start, unless it was counted before.
   *
   * @param isSelected whether the entry is known to match the consumer's filters
   */
  recount(entry: LogEntry, isSelected: boolean): void {
    if (entry.sequence <= this.#countedUpTo) return;
    // Most were never in flight, and the filters have not changed since: no need to match again.
    const plainAfter = Math.max(firstTarget(this.#position.standing), this.#unread.marksFrom);
    const isPlain = isSelected && entry.sequence > plainAfter && this.#toSkip === 0;
    if (isPlain ? this.#sent.wasSentAhead(entry.sequence) : !this.isPending(entry)) return;
    if (this.#toSkip > 0) {
      this.#toSkip--;
      this.#sent.skip(entry.sequence);
      return;
    }
    this.#unread.found(entry.payload.length);
    this.#account.found();
  }

  #cutAt(sequence: number, aheadCount: number, hasCompleted: boolean): void {
    this.#unread.cutAt(sequence, aheadCount, hasCompleted);
    this.#account.expired += this.#sent.cutAt(sequence);
    this.#position.goTo(Math.min(this.#position.offset, sequence));
  }

  /** Returns how many entries were unread. */
  #forgetUnread(): number {
    const { count } = this.#unread;
    this.#unread.setLeft(0, 0);
    return Math.max(0, count);
  }
}
