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

/** What one cursor has sent: what is in flight, and what is settled though the floor is below it. */
export class SentEntries {
  /** In the order of the log. */
  readonly #inFlight = new Map<number, Flight>();
  /** What was sent before its turn; undefined when nothing was. */
  #ahead: SentAhead | undefined;
  /** Up to a sequence, all that is not done with and not in flight; undefined: there is nothing. */
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

  /** In flight, sent in its turn or before. */
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

  /** Up to here, what was sent and dropped is known entry by entry. */
  get knownUpTo(): number {
    return this.#resume?.upTo ?? 0;
  }

  /** The parts of a cursor's saved state: those that say more than its floor does. */
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

  /** Whether the entry is neither in flight nor done with, as far as is known of it here. */
  isOpen(sequence: number): boolean {
    if (this.wasSentAhead(sequence) || this.#inFlight.has(sequence)) return false;
    const resume = this.#resume;
    return resume === undefined || sequence > resume.upTo || resume.open.has(sequence);
  }

  /** Whether the entry, behind what is known, was sent before its turn. */
  wasSentAhead(sequence: number): boolean {
    return this.#ahead?.has(sequence) === true;
  }

  /** How many entries behind a sequence were sent before their turn. */
  aheadAfter(sequence: number): number {
    return this.#ahead?.countAfter(sequence) ?? 0;
  }

  /** The entry awaits its acknowledgement. Returns whether it had been sent before. */
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

  /** The cursor passes an entry. Returns whether the entry was sent before its turn. */
  pass({ sequence, receivedAtMs }: LogEntry): boolean {
    const ahead = this.#ahead?.pass(sequence);
    this.#resume?.open.delete(sequence);
    if (ahead === undefined) return false;
    if (ahead !== 'done') this.#inFlight.set(sequence, { bytes: ahead, receivedAtMs });
    return true;
  }

  /** The cursor passes all entries up to this one, received about then. */
  passAllUpTo(sequence: number, receivedAtMs: number): void {
    for (const [sent, bytes] of this.#ahead?.passAllUpTo(sequence) ?? []) {
      this.#inFlight.set(sent, { bytes, receivedAtMs });
    }
  }

  /** The cursor has passed the whole log. */
  passAll(): void {
    if (this.aheadCount === 0) this.#ahead = undefined;
    else this.#ahead?.forgetDone();
  }

  /** Where a cursor can go on from without missing anything: behind what is known to be settled. */
  nextFrom(offset: number): number {
    const resume = this.#resume;
    if (resume === undefined || resume.upTo <= offset) return offset;
    for (const sequence of resume.open) if (sequence > offset) return offset;
    return resume.upTo;
  }

  /** Up to a sequence only these are to be sent still, besides what is in flight. */
  keepOnly(sent: SentBefore): void {
    this.#resume = resumeOf(sent);
  }

  /** The entry awaits nothing any more. Returns whether it was in flight. */
  settle(sequence: number): boolean {
    return this.#ahead?.settle(sequence) === true || this.#inFlight.delete(sequence);
  }

  /** An entry that is to be sent again need not be. Returns whether it was to be. */
  settleUnsent(sequence: number): boolean {
    return !this.wasSentAhead(sequence) && this.#resume?.open.delete(sequence) === true;
  }

  /** Gives up entries in flight that were received before this time. Returns how many. */
  expireBefore(timeMs: number): number {
    let expired = 0;
    for (const [sequence, { receivedAtMs }] of this.#inFlight) {
      if (receivedAtMs >= timeMs) break;
      this.#inFlight.delete(sequence);
      expired++;
    }
    return expired;
  }

  /** What is in flight will be sent again. Returns how much that is. */
  rewind(offset: number): Amount {
    const { amount } = this;
    if (amount.count > 0) this.#resume = resumeOf(this.#sentAt(offset));
    this.#ahead?.rewind();
    this.#inFlight.clear();
    return amount;
  }

  /** The log ends at this sequence now. Returns how many entries in flight were lost. */
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

  /** Of version 1: a dropped entry that had not been passed yet. */
  skip(sequence: number): void {
    this.#resume ??= { upTo: sequence, open: new Set() };
    if (!this.#resume.open.delete(sequence)) this.#resume.upTo = sequence;
  }

  /** What was sent, now or before the cursor last went back, and is not done with. */
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
