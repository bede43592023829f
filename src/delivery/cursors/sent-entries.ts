import type { LogEntry } from '../log/log-entry.js';
import { aheadSequences, aheadState, type CursorState, type SentBefore } from './cursor-state.js';

/** An entry that awaits its acknowledgement. */
interface Flight {
  readonly bytes: number;
  readonly receivedAtMs: number;
}

/** A number of entries and their bytes of payload. */
export interface Amount {
  readonly count: number;
  readonly bytes: number;
}

/** Entries after the offset that were sent before their turn. */
class Ahead {
  readonly inFlight = new Map<number, Flight>();
  readonly done: Set<number>;

  constructor(done: Iterable<number> = []) {
    this.done = new Set(done);
  }
}

/** The entries one cursor sent: in flight, or done with above the ack floor. */
export class SentEntries {
  /** Sent in their turn, in the order of the log. */
  readonly #inFlight = new Map<number, Flight>();
  /** Undefined when no entry was sent before its turn. */
  #ahead: Ahead | undefined;
  /**
   * Entries up to a sequence that are neither done with nor in flight; undefined: there are none.
   */
  #resume: { upTo: number; readonly open: Set<number> } | undefined;
  #sentUpTo: number;

  constructor({ ahead, sent, sentUpTo = 0 }: CursorState) {
    if (ahead !== undefined) this.#ahead = new Ahead(aheadSequences(ahead));
    this.#sentUpTo = sentUpTo;
    if (sent !== undefined) this.#resume = resumeOf(sent);
  }

  /** Entries in flight that were sent in their turn. */
  get inTurnCount(): number {
    return this.#inFlight.size;
  }

  /** Entries in flight that were sent before their turn. */
  get aheadCount(): number {
    return this.#ahead?.inFlight.size ?? 0;
  }

  /** All entries in flight, sent in their turn or before. */
  get amount(): Amount {
    let bytes = 0;
    for (const flight of this.#inFlight.values()) bytes += flight.bytes;
    for (const flight of this.#ahead?.inFlight.values() ?? []) bytes += flight.bytes;
    return { count: this.#inFlight.size + this.aheadCount, bytes };
  }

  /** The oldest entry in flight that was sent in its turn. */
  get oldest(): number | undefined {
    const [oldest] = this.#inFlight.keys();
    return oldest;
  }

  /** Up to here, sent and dropped entries are known one by one. */
  get knownUpTo(): number {
    return this.#resume?.upTo ?? 0;
  }

  /** The saved state beyond what the ack floor says. */
  stateAt(ackFloor: number, offset: number, isCaughtUp: boolean): Partial<CursorState> {
    const sent = this.#sentAt(offset);
    const isAllDone = isCaughtUp && this.#inFlight.size === 0;
    const done = isAllDone ? undefined : this.#ahead?.done;
    return {
      ...(this.#sentUpTo > ackFloor && { sentUpTo: this.#sentUpTo }),
      ...(sent.upTo > ackFloor && { sent }),
      ...(done !== undefined && done.size > 0 && { ahead: aheadState(done) }),
    };
  }

  isInFlight(sequence: number): boolean {
    return this.#inFlight.has(sequence);
  }

  /** Whether the entry is neither in flight nor known to be done with. */
  isOpen(sequence: number): boolean {
    if (this.#wasSentAhead(sequence) || this.#inFlight.has(sequence)) return false;
    const resume = this.#resume;
    return resume === undefined || sequence > resume.upTo || resume.open.has(sequence);
  }

  #wasSentAhead(sequence: number): boolean {
    const ahead = this.#ahead;
    return ahead !== undefined && (ahead.inFlight.has(sequence) || ahead.done.has(sequence));
  }

  /** How many entries after a sequence were sent before their turn. */
  aheadAfter(sequence: number): number {
    return this.#aheadSequences().filter((sent) => sent > sequence).length;
  }

  /** Puts the entry in flight. Returns whether it was sent before. */
  send({ sequence, payload, receivedAtMs }: LogEntry): boolean {
    const isRepeated = sequence <= this.#sentUpTo;
    this.#inFlight.set(sequence, { bytes: payload.length, receivedAtMs });
    this.#sentUpTo = Math.max(this.#sentUpTo, sequence);
    return isRepeated;
  }

  sendAhead({ sequence, payload, receivedAtMs }: LogEntry): void {
    this.#ahead ??= new Ahead();
    this.#ahead.inFlight.set(sequence, { bytes: payload.length, receivedAtMs });
  }

  /** Passes an entry. Returns whether the entry is to be sent. */
  pass({ sequence }: LogEntry): boolean {
    // Hardly ever is an entry after the offset known already.
    if (this.#ahead === undefined && this.#resume === undefined) return true;
    const isToSend = this.isOpen(sequence);
    this.#resume?.open.delete(sequence);
    this.#passAhead(sequence);
    return isToSend;
  }

  /** Passes all entries up to this one. */
  passAllUpTo(sequence: number): void {
    const passed = this.#aheadSequences().filter((sent) => sent <= sequence);
    for (const sent of passed.sort((one, other) => one - other)) this.#passAhead(sent);
  }

  /** Passes the whole log. */
  passAll(): void {
    if (this.aheadCount === 0) this.#ahead = undefined;
    else this.#ahead?.done.clear();
  }

  /** The offset to read from, past entries known to be done with. */
  nextFrom(offset: number): number {
    const resume = this.#resume;
    if (resume === undefined || resume.upTo <= offset) return offset;
    for (const sequence of resume.open) if (sequence > offset) return offset;
    return resume.upTo;
  }

  /** Keeps, of the entries up to a sequence, only these to be sent, besides those in flight. */
  keepOnly(sent: SentBefore): void {
    this.#resume = resumeOf(sent);
  }

  /** Takes an entry out of flight. Returns whether it was in flight. */
  complete(sequence: number): boolean {
    const ahead = this.#ahead;
    if (ahead?.inFlight.delete(sequence) !== true) return this.#inFlight.delete(sequence);
    ahead.done.add(sequence);
    return true;
  }

  /** Cancels sending an entry again. Returns whether it was to be sent. */
  cancelResend(sequence: number): boolean {
    return !this.#wasSentAhead(sequence) && this.#resume?.open.delete(sequence) === true;
  }

  /** Expires entries in flight received before this time. Returns how many. */
  expireBefore(timeMs: number): number {
    let expired = 0;
    for (const [sequence, { receivedAtMs }] of this.#inFlight) {
      if (receivedAtMs >= timeMs) break;
      this.#inFlight.delete(sequence);
      expired++;
    }
    return expired;
  }

  /** Takes all entries out of flight, to be sent again. Returns how many. */
  rewind(offset: number): Amount {
    const { amount } = this;
    if (amount.count > 0) this.#resume = resumeOf(this.#sentAt(offset));
    this.#ahead?.inFlight.clear();
    this.#inFlight.clear();
    return amount;
  }

  /** Cuts at the log's new end. Returns how many lost entries were in flight. */
  cutAt(sequence: number): number {
    const before = this.#inFlight.size + this.aheadCount;
    deleteAfter(this.#inFlight, sequence);
    if (this.#ahead !== undefined) {
      deleteAfter(this.#ahead.inFlight, sequence);
      deleteAfter(this.#ahead.done, sequence);
    }
    if (this.#resume !== undefined) {
      this.#resume.upTo = Math.min(this.#resume.upTo, sequence);
      deleteAfter(this.#resume.open, sequence);
    }
    this.#sentUpTo = Math.min(this.#sentUpTo, sequence);
    return before - this.#inFlight.size - this.aheadCount;
  }

  #aheadSequences(): number[] {
    return this.#ahead === undefined ? [] : [...this.#ahead.inFlight.keys(), ...this.#ahead.done];
  }

  /** An entry that was sent before its turn goes on as if it had been sent in its turn. */
  #passAhead(sequence: number): void {
    const flight = this.#ahead?.inFlight.get(sequence);
    if (flight !== undefined) this.#inFlight.set(sequence, flight);
    this.#ahead?.inFlight.delete(sequence);
    this.#ahead?.done.delete(sequence);
  }

  /** Sent entries that are not done with, also from before the last rewind. */
  #sentAt(offset: number): SentBefore {
    const sequences = [...this.#inFlight.keys()];
    const resume = this.#resume;
    if (resume === undefined || resume.upTo <= offset) return { upTo: offset, sequences };
    const toCome = [...resume.open].filter((sequence) => sequence > offset);
    return { upTo: resume.upTo, sequences: [...sequences, ...toCome] };
  }
}

function resumeOf({ upTo, sequences }: SentBefore): { upTo: number; open: Set<number> } {
  return { upTo, open: new Set(sequences) };
}

function deleteAfter(sequences: Map<number, unknown> | Set<number>, sequence: number): void {
  for (const one of sequences.keys()) if (one > sequence) sequences.delete(one);
}
