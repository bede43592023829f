import type { CursorState, SentBefore } from './cursor-state.js';
import type { LogEntry, LogName, LogReader } from './log-entry.js';
import type { LogTail } from './log-tail.js';
import { SentAhead } from './sent-ahead.js';
import type { Mark, Tally } from './tally.js';

const PAGE_ENTRIES = 500;
/** A consumer that has more ready than this reads the log instead. */
const MAX_READY = 500;

export interface CursorOptions {
  readonly log: LogName;
  readonly tail: LogTail;
  readonly reader: LogReader;
  readonly state: CursorState;
  /** Whether the consumer is to receive the entry; the same whenever it is asked. */
  readonly concerns: (entry: LogEntry) => boolean;
}

/** An entry that awaits its acknowledgement. */
interface Flight {
  readonly bytes: number;
  readonly receivedAtMs: number;
}

/**
 * How far one consumer is in one log: its ack floor, its offset, and what is in flight.
 *
 * Live, it is handed each new entry; behind, it reads the tail in memory or pages of the store; in
 * order either way, so nothing new overtakes what waited (CONTRACT 4.3). What it accepted is unread,
 * in flight, delivered, expired or dropped, and `accepted` is their sum (CONTRACT 4.6).
 */
export class Cursor {
  readonly log: LogName;
  readonly #options: CursorOptions;
  /** Every entry up to here was read or passed. */
  #offset: number;
  /** Whether every accepted entry behind the offset is in `#ready`. */
  #isLive = false;
  #ready: LogEntry[] = [];
  #readyAt = 0;
  #page: LogEntry[] = [];
  #pageAt = 0;
  #generation = 0;
  /** In the order of the log. */
  readonly #inFlight = new Map<number, Flight>();
  readonly #ahead: SentAhead;
  /** What was in flight when the cursor last went back to send it again. */
  #resume: { upTo: number; readonly unsettled: Set<number> } | undefined;
  #tally: Tally | undefined;
  /** The offset as a position in the tally: what the tally has more is unread. */
  #readCount = 0;
  #readBytes = 0;
  /** Marks before this sequence do not count what this consumer accepted. */
  #marksFrom = 0;
  #delivered: number;
  #expired: number;
  #dropped: number;
  #refused: number;
  #sentUpTo: number;
  #toSkip: number;
  readonly #countedUpTo: number;

  constructor(options: CursorOptions) {
    const { log, state } = options;
    this.log = log;
    this.#options = options;
    this.#offset = state.settled;
    this.#ahead = new SentAhead(state.ahead);
    this.#delivered = state.delivered;
    this.#expired = state.expired;
    this.#dropped = state.dropped;
    this.#refused = state.refused ?? 0;
    this.#sentUpTo = state.sentUpTo ?? 0;
    this.#toSkip = state.toSkip ?? 0;
    this.#countedUpTo = state.countedUpTo ?? state.settled;
    this.#readCount = -(state.unread ?? 0);
    this.#readBytes = -(state.unreadBytes ?? 0);
    if (state.sent !== undefined) this.#resume = resumeOf(state.sent);
  }

  get offset(): number {
    return this.#offset;
  }

  /** Entries accepted and not read yet. */
  get unread(): number {
    return (this.#tally?.count ?? 0) - this.#readCount;
  }

  get unreadBytes(): number {
    return (this.#tally?.bytes ?? 0) - this.#readBytes;
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  /** Accepted and not done with: unread, or sent and unacknowledged. */
  get queued(): number {
    return this.unread + this.#inFlight.size + this.#ahead.inFlightCount;
  }

  get delivered(): number {
    return this.#delivered;
  }

  get expired(): number {
    return this.#expired;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Of the dropped entries, those that the receiver will never take. */
  get refusedCount(): number {
    return this.#refused;
  }

  get accepted(): number {
    return this.queued + this.#delivered + this.#expired + this.#dropped;
  }

  /** The ack floor: every entry up to here is done with, or does not concern the consumer. */
  get settled(): number {
    const [oldest] = this.#inFlight.keys();
    if (oldest !== undefined) return oldest - 1;
    return this.#isCaughtUp ? this.#options.tail.last : this.#offset;
  }

  get state(): CursorState {
    const { settled, queued } = this;
    const sent = this.#sent();
    const ahead = this.#isCaughtUp && this.#inFlight.size === 0 ? undefined : this.#ahead.state;
    let unreadBytes = this.unreadBytes;
    for (const { bytes } of this.#inFlight.values()) unreadBytes += bytes;
    return {
      settled,
      delivered: this.#delivered,
      expired: this.#expired,
      dropped: this.#dropped,
      unread: queued,
      unreadBytes,
      countedUpTo: this.#options.tail.last,
      ...(this.#refused > 0 && { refused: this.#refused }),
      ...(this.#sentUpTo > settled && { sentUpTo: this.#sentUpTo }),
      ...(sent.upTo > settled && { sent }),
      ...(ahead && { ahead }),
    };
  }

  /**
   * Counts by this tally from now on.
   *
   * @param marksFrom the sequence from which on its marks count what this consumer accepts
   */
  follow(tally: Tally, marksFrom: number): void {
    const { unread, unreadBytes } = this;
    this.#tally = tally;
    this.#readCount = tally.count - unread;
    this.#readBytes = tally.bytes - unreadBytes;
    this.#marksFrom = marksFrom;
  }

  /** An accepted entry stands at the end of the log, and the consumer is connected. */
  offer(entry: LogEntry): void {
    if (!this.#isLive) return;
    this.#ready.push(entry);
    if (this.#ready.length - this.#readyAt > MAX_READY) this.#fallBehind();
  }

  /** The consumer has a connection: what it accepted goes there from now on. */
  start(): void {
    if (this.#isCaughtUp) this.#goLive();
  }

  /** The next entry to send; `behind` when more must be loaded from the store first. */
  next(expiredBeforeMs: number): LogEntry | 'caught-up' | 'behind' {
    while (!this.#isCaughtUp) {
      const entry = this.#isLive ? this.#ready[this.#readyAt] : this.#nextBehind();
      if (entry === undefined) {
        if (this.#offset < this.#options.tail.last) {
          this.#isLive = false;
          return 'behind';
        }
        // The log ends before everything accepted was found: it was trimmed, or lost.
        this.#expireUnread();
        break;
      }
      if (this.#take(entry)) {
        if (entry.receivedAtMs >= expiredBeforeMs) return entry;
        this.#expired++;
      }
    }
    if (!this.#isLive) this.#goLive();
    return 'caught-up';
  }

  /** Whether the page that is being sent should be followed up, so that sending need not wait. */
  get wantsPage(): boolean {
    const left = this.#page.length - this.#pageAt;
    const end = this.#page.at(-1)?.sequence ?? 0;
    return left > 0 && left < PAGE_ENTRIES / 2 && end < this.#options.tail.last;
  }

  /** Whether the next entry is in memory already. */
  get hasPage(): boolean {
    return this.#isLive || this.#pageAt < this.#page.length;
  }

  /** Loads what follows from the store. */
  async load(): Promise<void> {
    const generation = this.#generation;
    const { reader, tail } = this.#options;
    const newest = tail.last;
    const after = Math.max(this.#offset, this.#page.at(-1)?.sequence ?? 0);
    const entries = await reader.read(this.log, after, PAGE_ENTRIES);
    if (generation !== this.#generation) return;
    // What is stored but not announced yet is read once it has been.
    const page = entries.filter(({ sequence }) => sequence <= newest);
    this.#page = [...this.#page.slice(this.#pageAt), ...page];
    this.#pageAt = 0;
    // Nothing there: what was between has been trimmed.
    if (this.#page.length === 0) this.#offset = Math.max(this.#offset, newest);
  }

  /** Whether the entry concerns the consumer and is not done with, nor on its way. */
  isOwed(entry: LogEntry): boolean {
    const { sequence } = entry;
    if (this.#ahead.has(sequence) || this.#inFlight.has(sequence)) return false;
    const resume = this.#resume;
    const isKnown = resume !== undefined && sequence <= resume.upTo;
    return !(isKnown && !resume.unsettled.has(sequence)) && this.#options.concerns(entry);
  }

  /** Whether the entry may still be read, or be sent again should the connection break. */
  needs(entry: LogEntry): boolean {
    if (this.#isCaughtUp && this.#inFlight.size === 0) return false;
    return entry.sequence > this.settled && this.#options.concerns(entry);
  }

  /** The oldest entry that is queued; undefined also when it is not among the next ones. */
  async oldestQueued(): Promise<LogEntry | undefined> {
    if (this.queued === 0) return undefined;
    const entries = await this.#options.reader.read(this.log, this.settled, PAGE_ENTRIES);
    return entries.find((entry) => this.#inFlight.has(entry.sequence) || this.isOwed(entry));
  }

  /** The entry awaits its acknowledgement. Returns whether it had been sent before. */
  sent({ sequence, payload, receivedAtMs }: LogEntry): boolean {
    const isRepeated = sequence <= this.#sentUpTo;
    this.#inFlight.set(sequence, { bytes: payload.length, receivedAtMs });
    this.#sentUpTo = Math.max(this.#sentUpTo, sequence);
    return isRepeated;
  }

  /** The same for an entry behind the offset: it is sent before its turn. */
  sentAhead({ sequence, payload }: LogEntry): void {
    this.#readCount++;
    this.#readBytes += payload.length;
    this.#ahead.sent(sequence, payload.length);
  }

  acknowledged(sequence: number): void {
    if (this.#settle(sequence)) this.#delivered++;
  }

  /** The receiver will never take the entry, which was sent, perhaps before going back. */
  refused(sequence: number): void {
    if (!this.#settle(sequence) && !this.#passUnread(sequence)) return;
    this.#dropped++;
    this.#refused++;
  }

  /**
   * Drops the oldest unread entries beyond the bounds, by a jump that reads none of them.
   *
   * @returns whether any were dropped
   */
  dropBeyond(maxCount: number, maxBytes: number): boolean {
    const tally = this.#tally;
    const isWithin = this.unread <= maxCount && this.unreadBytes <= maxBytes;
    if (isWithin || tally === undefined) return false;
    const mark = tally.leaving(Math.max(0, maxCount), Math.max(0, maxBytes), this.#firstTarget);
    const dropped = mark === undefined ? 0 : this.#jump(tally, mark);
    this.#dropped += dropped;
    return dropped > 0;
  }

  /** Expires what was received before this time. Returns whether there was any. */
  expireBefore(timeMs: number): boolean {
    const tally = this.#tally;
    const mark = tally?.before(timeMs, this.#firstTarget);
    let expired = mark === undefined || tally === undefined ? 0 : this.#jump(tally, mark);
    // A client that never acknowledges must not hold the log.
    for (const [sequence, { receivedAtMs }] of this.#inFlight) {
      if (receivedAtMs >= timeMs) break;
      this.#inFlight.delete(sequence);
      expired++;
    }
    this.#expired += expired;
    return expired > 0;
  }

  /** Follows the end of the log while nothing in it concerns the consumer. */
  passUnconcerned(): void {
    if (this.#isCaughtUp && !this.#isLive) this.#passTo(this.#options.tail.last);
  }

  /** Goes back to the ack floor: everything behind it is sent again. */
  rewind(): void {
    const { settled } = this;
    const isNeeded = this.#inFlight.size > 0 || this.#ahead.inFlightCount > 0;
    if (isNeeded) this.#resume = resumeOf(this.#sent());
    const ahead = this.#ahead.rewind();
    this.#readCount -= this.#inFlight.size + ahead.count;
    this.#readBytes -= ahead.bytes;
    for (const { bytes } of this.#inFlight.values()) this.#readBytes -= bytes;
    this.#inFlight.clear();
    this.#offset = settled;
    this.#isLive = false;
    this.#forgetRead();
  }

  /** The store has lost its newest entries and numbers anew from here. */
  storeWentBack(sequence: number): void {
    this.#expired += this.#ahead.cutAt(sequence);
    if (this.#resume !== undefined) {
      this.#resume.upTo = Math.min(this.#resume.upTo, sequence);
    }
    this.#sentUpTo = Math.min(this.#sentUpTo, sequence);
    this.#marksFrom = Math.min(this.#marksFrom, sequence);
    this.#forgetRead();
    this.#isLive = false;
    for (const sent of this.#inFlight.keys()) {
      if (sent <= sequence) continue;
      this.#inFlight.delete(sent);
      this.#expired++;
    }
    if (this.#offset < sequence) return;
    this.#offset = sequence;
    this.#expireUnread();
  }

  /** The newest entry when the saved state was counted. */
  get countedUpTo(): number {
    return this.#countedUpTo;
  }

  /**
   * At start: an entry in the log that was appended after the saved state was counted.
   *
   * @param countedUpTo up to where all states are counted, unless they say later themselves
   * @param isMatched whether the entry is known to match the present filters
   */
  recount(entry: LogEntry, countedUpTo: number, isMatched = false): void {
    if (entry.sequence <= Math.max(this.#countedUpTo, countedUpTo)) return;
    // Most were never in flight, and their filters have not changed since: no need to match again.
    const isPlain = isMatched && entry.sequence > this.#firstTarget && this.#toSkip === 0;
    if (isPlain ? this.#ahead.has(entry.sequence) : !this.isOwed(entry)) return;
    if (this.#toSkip > 0) {
      this.#skip(entry.sequence);
      return;
    }
    this.#readCount--;
    this.#readBytes -= entry.payload.length;
  }

  get #isCaughtUp(): boolean {
    return this.unread <= 0 && this.#ahead.inFlightCount === 0;
  }

  /** Where a jump may lead: not to where what this consumer has settled is counted. */
  get #firstTarget(): number {
    return Math.max(this.#offset, this.#marksFrom, this.#resume?.upTo ?? 0);
  }

  #goLive(): void {
    this.#passTo(this.#options.tail.last);
    this.#readCount = this.#tally?.count ?? 0;
    this.#readBytes = this.#tally?.bytes ?? 0;
    this.#isLive = true;
  }

  #passTo(offset: number): void {
    this.#offset = Math.max(this.#offset, offset);
    this.#ahead.forgetDone();
    this.#forgetRead();
  }

  #fallBehind(): void {
    const next = this.#ready[this.#readyAt];
    if (next !== undefined) this.#offset = next.sequence - 1;
    this.#isLive = false;
    this.#forgetRead();
  }

  #nextBehind(): LogEntry | undefined {
    return this.#page[this.#pageAt] ?? this.#options.tail.entryAfter(this.#offset);
  }

  /** Passes the entry. Returns whether it is to be sent. */
  #take(entry: LogEntry): boolean {
    if (this.#isLive) this.#takeReady();
    else if (this.#pageAt < this.#page.length) this.#pageAt++;
    const { sequence } = entry;
    // The set in flight may be asked for an entry that a page brought twice.
    if (sequence <= this.#offset) return false;
    this.#offset = sequence;
    const ahead = this.#ahead.pass(sequence);
    if (ahead !== undefined) {
      if (ahead !== 'done') this.#sentInTurn(sequence, ahead, entry.receivedAtMs);
      return false;
    }
    if (!this.#isLive && !this.isOwed(entry)) return false;
    this.#readCount++;
    this.#readBytes += entry.payload.length;
    return true;
  }

  #takeReady(): void {
    this.#readyAt++;
    if (this.#readyAt < this.#ready.length) return;
    this.#ready = [];
    this.#readyAt = 0;
  }

  #sentInTurn(sequence: number, bytes: number, receivedAtMs: number): void {
    this.#inFlight.set(sequence, { bytes, receivedAtMs });
  }

  /** Passes everything up to the mark. Returns how many entries were unread. */
  #jump(tally: Tally, mark: Mark): number {
    const unreadBefore = this.unread;
    const after = Math.max(0, tally.count - mark.count - this.#ahead.countAfter(mark.sequence));
    if (after >= unreadBefore) return 0;
    for (const [sequence, bytes] of this.#ahead.passAllUpTo(mark.sequence)) {
      this.#sentInTurn(sequence, bytes, mark.receivedAtMs);
    }
    this.#readCount = tally.count - after;
    this.#readBytes = mark.bytes;
    this.#offset = mark.sequence;
    this.#isLive = false;
    this.#forgetRead();
    return unreadBefore - after;
  }

  /** Returns whether the entry was in flight. */
  #settle(sequence: number): boolean {
    return this.#ahead.settle(sequence) || this.#inFlight.delete(sequence);
  }

  /** An entry that is to be sent again need not be. Returns whether it was to be. */
  #passUnread(sequence: number): boolean {
    const isUnread = this.#resume?.unsettled.has(sequence) === true && sequence > this.#offset;
    if (!isUnread) return false;
    this.#resume?.unsettled.delete(sequence);
    this.#readCount++;
    return true;
  }

  /** Of version 1: a dropped entry that had not been passed yet. */
  #skip(sequence: number): void {
    this.#toSkip--;
    this.#resume ??= { upTo: sequence, unsettled: new Set() };
    if (!this.#resume.unsettled.delete(sequence)) this.#resume.upTo = sequence;
  }

  #expireUnread(): void {
    this.#expired += Math.max(0, this.unread);
    this.#readCount = this.#tally?.count ?? 0;
    this.#readBytes = this.#tally?.bytes ?? 0;
  }

  /** What was sent, now or before the cursor last went back, and is not done with. */
  #sent(): SentBefore {
    const sequences = [...this.#inFlight.keys()];
    const resume = this.#resume;
    const offset = this.#offset;
    if (resume === undefined || resume.upTo <= offset) return { upTo: offset, sequences };
    const toCome = [...resume.unsettled].filter((sequence) => sequence > offset);
    return { upTo: resume.upTo, sequences: [...sequences, ...toCome] };
  }

  #forgetRead(): void {
    this.#generation++;
    this.#ready = [];
    this.#readyAt = 0;
    this.#page = [];
    this.#pageAt = 0;
  }
}

function resumeOf({ upTo, sequences }: SentBefore): { upTo: number; unsettled: Set<number> } {
  return { upTo, unsettled: new Set(sequences) };
}
