import type { CursorState } from './cursor-state.js';
import type { LogEntry, LogName, LogReader } from './log-entry.js';
import type { LogTail } from './log-tail.js';
import { SentAhead } from './sent-ahead.js';

const PAGE_ENTRIES = 500;

export interface LogCursorOptions {
  readonly log: LogName;
  readonly tail: LogTail;
  readonly reader: LogReader;
  readonly state: CursorState;
  /** Whether the destination is owed the entry; the same whenever it is asked. */
  readonly concerns: (entry: LogEntry) => boolean;
}

/**
 * How far one destination is in one log. Every entry that concerns it is accepted once, then queued,
 * and ends as delivered, expired or dropped: the four always add up (CONTRACT 4.6). Caught up, it
 * reads the tail in memory; behind, pages from the store; in order and without a gap either way, so
 * nothing new overtakes what waited (CONTRACT 4.3).
 */
export class LogCursor {
  readonly log: LogName;
  readonly #options: LogCursorOptions;
  /** Sent and not acknowledged, in the order of the log. */
  readonly #outstanding = new Set<number>();
  readonly #ahead: SentAhead;
  /** What was in flight when it last went back to send it again. */
  #sentBefore: { readonly upTo: number; readonly sequences: ReadonlySet<number> } | undefined;
  /** Whether something behind an entry in flight is done with: acknowledged before it, or fallen out. */
  #hasGaps = false;
  #page: readonly LogEntry[] = [];
  #pageAt = 0;
  #position: number;
  /** Entries that concern the destination and lie behind the position, but for the dropped ones. */
  #unread = 0;
  #toSkip: number;
  #accepted: number;
  #delivered: number;
  #expired: number;
  #dropped: number;
  #refused: number;
  #sentUpTo: number;
  #generation = 0;
  #rewinds = 0;

  constructor(options: LogCursorOptions) {
    const { log, state } = options;
    this.log = log;
    this.#options = options;
    this.#ahead = new SentAhead(state.ahead);
    this.#position = state.settled;
    this.#toSkip = state.toSkip;
    this.#delivered = state.delivered;
    this.#expired = state.expired;
    this.#dropped = state.dropped;
    this.#refused = state.refused ?? 0;
    this.#sentUpTo = state.sentUpTo ?? 0;
    // What was dropped but not passed yet is counted again with the entries behind the position.
    this.#accepted = state.delivered + state.expired + state.dropped - state.toSkip;
    this.#dropped -= state.toSkip;
    if (state.sent === undefined) return;
    const { upTo, sequences } = state.sent;
    this.#sentBefore = { upTo, sequences: new Set(sequences) };
    this.#hasGaps = true;
  }

  /** The last entry that was read, or passed without reading. */
  get position(): number {
    return this.#position;
  }

  /** How often it has gone back to send again what was in flight. */
  get rewindCount(): number {
    return this.#rewinds;
  }

  /** Everything up to here is delivered, has fallen out, or did not concern the destination. */
  get settled(): number {
    const [oldest] = this.#outstanding;
    if (oldest !== undefined) return oldest - 1;
    return this.#isCaughtUp ? this.#options.tail.last : this.#position;
  }

  get state(): CursorState {
    const { upTo, sequences } = this.#sent();
    const isNeeded = !this.#isCaughtUp || this.#outstanding.size > 0;
    const ahead = isNeeded ? this.#ahead.state : undefined;
    return {
      settled: this.settled,
      delivered: this.#delivered,
      expired: this.#expired,
      dropped: this.#dropped,
      toSkip: this.#toSkip,
      ...(this.#refused > 0 && { refused: this.#refused }),
      ...(this.#sentUpTo > this.settled && { sentUpTo: this.#sentUpTo }),
      ...(this.#hasGaps && { sent: { upTo, sequences: [...sequences] } }),
      ...(ahead && { ahead }),
    };
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

  /** Of the dropped ones, those that the receiver has refused. */
  get refusedCount(): number {
    return this.#refused;
  }

  /** Entries accepted for the destination, whatever became of them. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Accepted and not yet settled: waiting, or sent and unacknowledged. */
  get queued(): number {
    return this.#unread + this.#outstanding.size + this.#ahead.inFlightCount;
  }

  get unread(): number {
    return this.#unread;
  }

  get outstandingCount(): number {
    return this.#outstanding.size;
  }

  get toSkip(): number {
    return this.#toSkip;
  }

  /** An entry that concerns the destination now stands at the end of the log. */
  accept(entry: LogEntry): void {
    if (entry.sequence <= this.#position) return;
    if (this.#isCaughtUp) {
      // Nothing before it concerned the destination: it need not be read to know that.
      this.#passAll(entry.sequence - 1);
    }
    this.#accepted++;
    this.#unread++;
  }

  /** So many more that concern the destination stand in the log, all of them behind this one. */
  acceptAll(count: number, after: number): void {
    if (count === 0) return;
    if (this.#isCaughtUp) {
      this.#passAll(Math.max(this.#position, after));
    }
    this.#accepted += count;
    this.#unread += count;
  }

  /** The oldest waiting entry falls out. Returns false when none is waiting. */
  dropOldest(): boolean {
    if (this.#unread === 0) return false;
    this.#unread--;
    this.#toSkip++;
    this.#dropped++;
    return true;
  }

  /** The next entry to send; `behind` when more must be loaded from the store first. */
  next(): LogEntry | 'caught-up' | 'behind' {
    const { tail } = this.#options;
    while (!this.#isCaughtUp) {
      const entry = this.#page[this.#pageAt] ?? tail.entryAfter(this.#position);
      if (entry === undefined) {
        if (this.#position < tail.last) return 'behind';
        this.#expireMissing();
        break;
      }
      if (this.#pageAt < this.#page.length) this.#pageAt++;
      this.#position = entry.sequence;
      if (this.#passAhead(entry.sequence)) continue;
      if (this.isOwed(entry) && !this.#skip()) {
        this.#unread--;
        return entry;
      }
    }
    this.#passAll(Math.max(this.#position, tail.last));
    return 'caught-up';
  }

  /** Loads what follows from the store. */
  async load(): Promise<void> {
    const generation = this.#generation;
    const { reader, tail } = this.#options;
    const newest = tail.last;
    const entries = await reader.read(this.log, this.#position, PAGE_ENTRIES);
    if (generation !== this.#generation) return;
    // What is stored but not yet announced (`accept`) is read when it has been.
    this.#page = entries.filter(({ sequence }) => sequence <= newest);
    this.#pageAt = 0;
    // Nothing there: what was between has been trimmed.
    if (this.#page.length === 0) this.#position = Math.max(this.#position, newest);
  }

  /** Whether the entry concerns the destination and is not done with, or on its way. */
  isOwed(entry: LogEntry): boolean {
    if (this.#ahead.has(entry.sequence)) return false;
    const before = this.#sentBefore;
    const isKnown = before !== undefined && entry.sequence <= before.upTo;
    return !(isKnown && !before.sequences.has(entry.sequence)) && this.#options.concerns(entry);
  }

  /** The oldest entry that is owed; undefined also when it is not among the next ones in the store. */
  async oldestQueued(): Promise<LogEntry | undefined> {
    if (this.queued === 0) return undefined;
    const entries = await this.#options.reader.read(this.log, this.settled, PAGE_ENTRIES);
    return entries.find((entry) => this.isOwed(entry));
  }

  /** The entry awaits its acknowledgement. Returns whether it had been sent before. */
  sent(sequence: number): boolean {
    const isRepeated = sequence <= this.#sentUpTo;
    this.#outstanding.add(sequence);
    this.#sentUpTo = Math.max(this.#sentUpTo, sequence);
    return isRepeated;
  }

  /** The same for an entry behind the position: it is sent before its turn. */
  sentAhead(sequence: number): void {
    this.#unread--;
    this.#ahead.sent(sequence);
  }

  acknowledged(sequence: number): void {
    if (this.#settle(sequence)) this.#delivered++;
  }

  /** The receiver will never take the entry, which it has been sent, perhaps before going back. */
  refused(sequence: number): void {
    if (!this.#settle(sequence) && !this.#passUnread(sequence)) return;
    this.#dropped++;
    this.#refused++;
  }

  /** Goes back to the first entry that is not settled: it is sent again from there. */
  rewind(): void {
    this.#rewinds++;
    this.#unread += this.#ahead.rewind();
    if (this.#outstanding.size > 0) {
      const { settled } = this;
      this.#sentBefore = this.#sent();
      this.#unread += this.#outstanding.size;
      this.#outstanding.clear();
      this.#position = settled;
    }
    this.#forgetPage();
  }

  /** The store has lost its newest entries and numbers anew from here. */
  storeWentBack(sequence: number): void {
    this.#expired += this.#ahead.cutAt(sequence);
    if (this.#sentBefore !== undefined) {
      const { upTo, sequences } = this.#sentBefore;
      this.#sentBefore = { upTo: Math.min(upTo, sequence), sequences };
    }
    this.#sentUpTo = Math.min(this.#sentUpTo, sequence);
    this.#forgetPage();
    if (this.#position <= sequence) return;
    this.#expired += this.#unread;
    this.#unread = 0;
    this.#toSkip = 0;
    for (const sent of this.#outstanding) {
      if (sent <= sequence) continue;
      this.#outstanding.delete(sent);
      this.#expired++;
    }
    this.#position = sequence;
  }

  /** At start: an entry behind the saved position is still owed, or was dropped before. */
  recount(entry: LogEntry): void {
    if (entry.sequence <= this.#position || !this.isOwed(entry)) return;
    this.#accepted++;
    this.#unread++;
  }

  /** After the last `recount`: those that were dropped already do not wait. */
  recounted(): void {
    this.#toSkip = Math.min(this.#toSkip, this.#unread);
    this.#unread -= this.#toSkip;
    this.#dropped += this.#toSkip;
  }

  /**
   * Passes an entry without anybody reading it, if it has fallen out: dropped, or too old.
   * Entries come in order; returns false when this one must wait, and all that follow.
   */
  sweep(entry: LogEntry, isExpired: boolean): boolean {
    if (entry.sequence <= this.#position) {
      if (isExpired) this.#expireSent(entry.sequence);
      return true;
    }
    if (!this.#passAhead(entry.sequence) && this.isOwed(entry)) {
      if (this.#toSkip === 0 && !isExpired) return false;
      if (!this.#skip()) this.#expireUnread();
    }
    this.#position = entry.sequence;
    this.#forgetPage();
    if (isExpired) this.#expireSent(entry.sequence);
    return true;
  }

  get #isCaughtUp(): boolean {
    return this.#unread === 0 && this.#toSkip === 0 && this.#ahead.inFlightCount === 0;
  }

  #skip(): boolean {
    if (this.#toSkip === 0) return false;
    this.#toSkip--;
    this.#noteFallenOut();
    return true;
  }

  #expireUnread(): void {
    this.#unread--;
    this.#expired++;
    this.#noteFallenOut();
  }

  #noteFallenOut(): void {
    if (this.#outstanding.size > 0) this.#hasGaps = true;
  }

  /** The oldest entry in flight is too old: a client that never acknowledges must not hold the log. */
  #expireSent(sequence: number): void {
    const [oldest] = this.#outstanding;
    if (oldest !== sequence) return;
    if (this.#settle(sequence)) this.#expired++;
  }

  /** Returns whether the entry was in flight. */
  #settle(sequence: number): boolean {
    if (this.#ahead.settle(sequence)) return true;
    const [oldest] = this.#outstanding;
    if (!this.#outstanding.delete(sequence)) return false;
    if (sequence !== oldest) this.#hasGaps = true;
    const isAllPassed = this.#position >= (this.#sentBefore?.upTo ?? 0);
    if (this.#outstanding.size === 0 && isAllPassed) this.#hasGaps = false;
    return true;
  }

  /** An entry that is to be sent again need not be. Returns whether it was to be. */
  #passUnread(sequence: number): boolean {
    if (sequence <= this.#position || this.#unread === 0 || this.#ahead.has(sequence)) return false;
    this.sentAhead(sequence);
    return this.#ahead.settle(sequence);
  }

  /** The turn of an entry that may have been sent before it. Returns whether it was. */
  #passAhead(sequence: number): boolean {
    const passed = this.#ahead.pass(sequence);
    if (passed === 'in-flight') this.#outstanding.add(sequence);
    if (passed === 'done') this.#noteFallenOut();
    return passed !== undefined;
  }

  /** Nothing up to here is to be read any more. */
  #passAll(position: number): void {
    this.#position = position;
    if (this.#ahead.forgetDone()) this.#noteFallenOut();
    this.#forgetPage();
  }

  /** What was sent, now or before it last went back, and was not acknowledged. */
  #sent(): { upTo: number; sequences: ReadonlySet<number> } {
    const inFlight = this.#outstanding;
    const before = this.#sentBefore;
    if (before === undefined || before.upTo <= this.#position) {
      return { upTo: this.#position, sequences: new Set(inFlight) };
    }
    const toCome = [...before.sequences].filter((sequence) => sequence > this.#position);
    return { upTo: before.upTo, sequences: new Set([...inFlight, ...toCome]) };
  }

  /** The log ends before everything owed was found: it was trimmed meanwhile. */
  #expireMissing(): void {
    this.#expired += this.#unread;
    this.#unread = 0;
    this.#toSkip = 0;
  }

  #forgetPage(): void {
    this.#generation++;
    this.#page = [];
    this.#pageAt = 0;
  }
}
