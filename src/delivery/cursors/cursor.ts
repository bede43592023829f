import { type Tally, Unread } from '../backlog/tally.js';
import type { LogEntry, LogName } from '../log/log-entry.js';
import type { CursorState } from './cursor-state.js';
import { type ReadOptions, ReadPosition } from './read-position.js';
import { SentEntries } from './sent-entries.js';

const PAGE_ENTRIES = 500;

export interface CursorOptions extends ReadOptions {
  readonly state: CursorState;
  /** Called with the number of accepted entries that the log no longer has. */
  readonly onLost: (count: number) => void;
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
  /** Only the cursor itself writes its counts. */
  delivered: number;
  expired: number;
  /** The dropped entries that the receiver never takes. */
  deadLetterCount: number;
  readonly position: ReadPosition;
  readonly #options: CursorOptions;
  readonly #sent: SentEntries;
  readonly #unread: Unread;
  /** Dropped because of the bounds, or as dead letters. */
  #dropped: number;
  #lost: number;
  /** At start, entries that were unread and may be lost, until they are found. */
  #missing = 0;
  #countedUpTo: number;

  constructor(options: CursorOptions) {
    const { log, state } = options;
    this.log = log;
    this.#options = options;
    this.#sent = new SentEntries(state);
    this.#unread = new Unread(state.unread, state.unreadBytes);
    const parts = { sent: this.#sent, unread: this.#unread };
    this.position = new ReadPosition({ ...options, ...parts, offset: state.ackFloor });
    this.delivered = state.delivered;
    this.expired = state.expired;
    this.#lost = state.lost ?? 0;
    this.#dropped = state.dropped - this.#lost;
    this.deadLetterCount = state.deadLetters ?? 0;
    this.#countedUpTo = state.countedUpTo;
  }

  /** Entries accepted and not read yet. */
  get unread(): number {
    return this.#unread.count;
  }

  /** Entries in flight that were sent in their turn. */
  get inFlightCount(): number {
    return this.#sent.inTurnCount;
  }

  /** Accepted entries that are unread or in flight. */
  get queued(): number {
    return this.#unread.count + this.#sent.inTurnCount + this.#sent.aheadCount;
  }

  /** Bytes of payload of the queued entries. */
  get queuedBytes(): number {
    return this.#unread.bytes + this.#sent.amount.bytes;
  }

  get dropped(): number {
    return this.#dropped + this.lostCount;
  }

  /** The dropped entries that the store has lost. */
  get lostCount(): number {
    return this.#lost + this.#missing;
  }

  get accepted(): number {
    return this.queued + this.delivered + this.expired + this.dropped;
  }

  /** The ack floor: every entry up to here is done with, or does not concern the consumer. */
  get ackFloor(): number {
    const { oldest } = this.#sent;
    if (oldest !== undefined) return oldest - 1;
    return this.position.isCaughtUp ? this.#options.tail.last : this.position.offset;
  }

  get state(): CursorState {
    const { ackFloor, delivered, expired, dropped, deadLetterCount, lostCount } = this;
    return {
      ackFloor,
      delivered,
      expired,
      dropped,
      ...(deadLetterCount > 0 && { deadLetters: deadLetterCount }),
      ...(lostCount > 0 && { lost: lostCount }),
      unread: this.queued,
      unreadBytes: this.queuedBytes,
      countedUpTo: this.#options.tail.last,
      ...this.#sent.stateAt(ackFloor, this.position.offset, this.position.isCaughtUp),
    };
  }

  /** Counts by this tally from now on (`Unread.follow`). */
  follow(tally: Tally, marksFrom: number): void {
    this.#unread.follow(tally, marksFrom);
  }

  /** Allows jumps over entries from before the start: their marks are set. */
  marked(): void {
    this.#unread.marked();
  }

  /** Goes live at the start of a connection, unless entries are queued. */
  start(): void {
    if (this.position.isCaughtUp) this.position.goLive();
  }

  /** The next entry to send; `not-loaded` when more must be loaded from the store first. */
  next(expiredBeforeMs: number): LogEntry | 'caught-up' | 'not-loaded' {
    const position = this.position;
    while (!position.isCaughtUp) {
      if (position.isHeldUp) return 'not-loaded';
      const next = position.next();
      if (next === undefined) {
        if (position.switchToLog()) return 'not-loaded';
        // The log ends before everything accepted was found; what had expired was passed before.
        const lost = this.#forgetUnread();
        this.#lost += lost;
        if (lost > 0) this.#options.onLost(lost);
        break;
      }
      if (position.take(next)) {
        if (next.receivedAtMs >= expiredBeforeMs) return next;
        this.expired++;
      }
    }
    if (!position.isLive) position.goLive();
    return 'caught-up';
  }

  /** Whether the entry concerns the consumer and is neither in flight nor done with. */
  isPending(entry: LogEntry): boolean {
    return this.#sent.isOpen(entry.sequence) && this.#options.concerns(entry);
  }

  /** Whether the entry may still be read, or sent again after a broken connection. */
  needs(entry: LogEntry): boolean {
    if (this.position.isCaughtUp && this.#sent.inTurnCount === 0) return false;
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
    if (this.#sent.complete(sequence)) this.delivered++;
  }

  /** Drops a sent entry that the receiver never takes, also after a rewind. */
  deadLetter(sequence: number): void {
    if (!this.#sent.complete(sequence)) {
      if (sequence <= this.position.offset || !this.#sent.cancelResend(sequence)) return;
      this.#unread.read(0);
    }
    this.#dropped++;
    this.deadLetterCount++;
  }

  /**
   * Drops the oldest unread entries of a backlog beyond its bounds, by a jump that reads none of them.
   *
   * Deliveries go on however fast the log is fed: entries that are ready are sent first, and nothing
   * is dropped while a page is being loaded, which would then be useless.
   * @returns whether any were dropped
   */
  dropBeyond(maxCount: number, maxBytes: number): boolean {
    const inFlight = this.#sent.amount;
    const [count, bytes] = [maxCount - inFlight.count, maxBytes - inFlight.bytes];
    const isWithin = this.#unread.count <= count && this.#unread.bytes <= bytes;
    if (isWithin || this.position.isLoading) return false;
    const dropped = this.position.passBeyond(count, bytes);
    this.#dropped += dropped;
    return dropped > 0;
  }

  /** Expires entries received before this time. Returns whether there were any. */
  expireBefore(timeMs: number): boolean {
    const unread = this.position.passOlder(timeMs);
    // A client that never acknowledges must not hold the log.
    const inFlight = this.#sent.expireBefore(timeMs);
    this.expired += unread + inFlight;
    return unread + inFlight > 0;
  }

  /** Goes back to the ack floor; unacknowledged entries are sent again. */
  rewind(): void {
    const { ackFloor } = this;
    const { count, bytes } = this.#sent.rewind(this.position.offset);
    this.#unread.add(count, bytes);
    this.position.goTo(ackFloor);
  }

  /** Follows a store that lost its newest entries and numbers anew from here. */
  storeWentBack(sequence: number): void {
    const hadReadMore = this.position.offset >= sequence;
    const hasCompleted = this.#sent.knownUpTo > sequence;
    this.#cutAt(sequence, this.#sent.aheadAfter(sequence), hasCompleted);
    if (hadReadMore) this.#lost += this.#forgetUnread();
  }

  /** The newest entry when the unread entries were counted. */
  get countedUpTo(): number {
    return this.#countedUpTo;
  }

  /**
   * Begins the recount at start: unread entries are counted up to here at least.
   *
   * A log that ends earlier has lost its newest entries: all after the floor are counted again.
   * @returns whether the store has lost entries
   */
  beginCount(countedUpTo: number): boolean {
    const { last } = this.#options.tail;
    this.#countedUpTo = Math.max(this.#countedUpTo, countedUpTo);
    if (this.#countedUpTo <= last) return false;
    // Nothing that was lost has been counted yet by a tally.
    this.#cutAt(last, 0, false);
    this.#countedUpTo = this.position.offset;
    this.#missing = this.#forgetUnread();
    return true;
  }

  /** Counts an entry at start, unless it was counted before; `isSelected`: it matches the filters. */
  recount(entry: LogEntry, isSelected: boolean): void {
    if (entry.sequence <= this.#countedUpTo) return;
    // Unless the filters have changed since, there is no need to match again.
    const isMatched = isSelected && entry.sequence > this.#unread.marksFrom;
    if (!this.#sent.isOpen(entry.sequence) || !(isMatched || this.#options.concerns(entry))) return;
    this.#unread.found(entry.payload.length);
    if (this.#missing > 0) this.#missing--;
  }

  #cutAt(sequence: number, aheadCount: number, hasCompleted: boolean): void {
    this.#unread.cutAt(sequence, aheadCount, hasCompleted);
    this.#lost += this.#sent.cutAt(sequence);
    this.position.goTo(Math.min(this.position.offset, sequence));
  }

  /** Returns how many entries were unread. */
  #forgetUnread(): number {
    const { count } = this.#unread;
    this.#unread.setLeft(0, 0);
    return Math.max(0, count);
  }
}
