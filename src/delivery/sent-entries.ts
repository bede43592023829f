import type { CursorState, SentBefore } from './cursor-state.js';
import type { LogEntry } from './log-entry.js';
import { SentAhead } from './sent-ahead.js';

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

/** The entries one cursor sent: in flight, or done with above the ack floor. */
export class SentEntries {
  /** In the order of the log. */
  readonly #inFlight = new Map<number, Flight>();
  /** Entries sent before their turn; undefined when there are none. */
  #ahead: SentAhead | undefined;
  /**
   * Entries up to a sequence that are neither done with nor in flight; undefined: there are none.
   */
  #resume: { upTo: number; readonly open: Set<number> } | undefined;
  #sentUpTo: number;

  constructor({ ahead, sent, sentUpTo = 0 }: CursorState) {
    if (ahead !== undefined) this.#ahead = new SentAhead(ahead);
    this.#sentUpTo = sentUpTo;
    if (sent !== undefined) this.#resume = resumeOf(sent);
  }

  /** Entries in flight that were sent in their turn. */
  get inTurnCount(): number {
    return this.#inFlight.size;
  }

  /** Entries in flight that were sent before their turn. */
  get aheadCount(): number {
    return this.#ahead?.inFlightCount ?? 0;
  }

  /** All entries in flight, sent in their turn or before. */
  get amount(): Amount {
    let bytes = this.#ahead?.inFlightBytes ?? 0;
    for (const flight of this.#inFlight.values()) bytes += flight.bytes;
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
    const ahead = isCaughtUp && this.#inFlight.size === 0 ? undefined : this.#ahead?.state;
    return {
      ...(this.#sentUpTo > ackFloor && { sentUpTo: this.#sentUpTo }),
      ...(sent.upTo > ackFloor && { sent }),
      ...(ahead && { ahead }),
    };
  }

  isInFlight(sequence: number): boolean {
    return this.#inFlight.has(sequence);
  }

  /** Whether the entry is neither in flight nor known to be done with. */
  isOpen(sequence: number): boolean {
    if (this.wasSentAhead(sequence) || this.#inFlight.has(sequence)) return false;
    const resume = this.#resume;
    return resume === undefined || sequence > resume.upTo || resume.open.has(sequence);
  }

  /** Whether the entry was sent before its turn. */
  wasSentAhead(sequence: number): boolean {
    return this.#ahead?.has(sequence) === true;
  }

  /** How many entries after a sequence were sent before their turn. */
  aheadAfter(sequence: number): number {
    return this.#ahead?.countAfter(sequence) ?? 0;
  }

  /** Puts the entry in flight. Returns whether it was sent before. */
  send({ sequence, payload, receivedAtMs }: LogEntry): boolean {
    const isRepeated = sequence <= this.#sentUpTo;
    this.#inFlight.set(sequence, { bytes: payload.length, receivedAtMs });
    this.#sentUpTo = Math.max(this.#sentUpTo, sequence);
    return isRepeated;
  }

  sendAhead({ sequence, payload }: LogEntry): void {
    this.#ahead ??= new SentAhead();
    this.#ahead.sent(sequence, payload.length);
  }

  /** Passes an entry. Returns whether the entry was sent before its turn. */
  pass({ sequence, receivedAtMs }: LogEntry): boolean {
    const ahead = this.#ahead?.pass(sequence);
    this.#resume?.open.delete(sequence);
    if (ahead === undefined) return false;
    if (ahead !== 'done') this.#inFlight.set(sequence, { bytes: ahead, receivedAtMs });
    return true;
  }

  /** Passes all entries up to this one, received about then. */
  passAllUpTo(sequence: number, receivedAtMs: number): void {
    for (const [sent, bytes] of this.#ahead?.passAllUpTo(sequence) ?? []) {
      this.#inFlight.set(sent, { bytes, receivedAtMs });
    }
  }

  /** Passes the whole log. */
  passAll(): void {
    if (this.aheadCount === 0) this.#ahead = undefined;
    else this.#ahead?.forgetDone();
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
    return this.#ahead?.complete(sequence) === true || this.#inFlight.delete(sequence);
  }

  /** Cancels sending an entry again. Returns whether it was to be sent. */
  cancelResend(sequence: number): boolean {
    return !this.wasSentAhead(sequence) && this.#resume?.open.delete(sequence) === true;
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
    this.#ahead?.rewind();
    this.#inFlight.clear();
    return amount;
  }

  /** Cuts at the log's new end. Returns how many lost entries were in flight. */
  cutAt(sequence: number): number {
    let lost = this.#ahead?.cutAt(sequence) ?? 0;
    for (const sent of this.#inFlight.keys()) {
      if (sent <= sequence) continue;
      this.#inFlight.delete(sent);
      lost++;
    }
    if (this.#resume !== undefined) {
      this.#resume.upTo = Math.min(this.#resume.upTo, sequence);
      for (const open of this.#resume.open) {
        if (open > sequence) this.#resume.open.delete(open);
      }
    }
    this.#sentUpTo = Math.min(this.#sentUpTo, sequence);
    return lost;
  }

  /** Version 1: passes a dropped entry that the offset had not passed yet. */
  skip(sequence: number): void {
    this.#resume ??= { upTo: sequence, open: new Set() };
    if (!this.#resume.open.delete(sequence)) this.#resume.upTo = sequence;
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
