import type { LogEntry, LogName, LogReader } from './log-entry.js';
import type { LogTail } from './log-tail.js';

const PAGE_ENTRIES = 500;

/**
 * How far one destination is in one log: what it has read, and what it has acknowledged. Caught up,
 * it reads the tail in memory; behind, pages from the store. Either way in order and without a gap,
 * so nothing new overtakes what waited (CONTRACT 4.3).
 */
export class LogCursor {
  readonly log: LogName;
  readonly #tail: LogTail;
  readonly #reader: LogReader;
  readonly #unacknowledged = new Set<number>();
  #page: LogEntry[] = [];
  #pageAt = 0;
  #position: number;
  #sentUpTo = 0;
  #generation = 0;

  /** @param start the sequence number of the last entry that is settled already */
  constructor(log: LogName, tail: LogTail, reader: LogReader, start: number) {
    this.log = log;
    this.#tail = tail;
    this.#reader = reader;
    this.#position = start;
  }

  /** Everything up to here is acknowledged or did not concern the destination. */
  get settled(): number {
    const [oldest] = this.#unacknowledged;
    return oldest === undefined ? this.#position : oldest - 1;
  }

  get unacknowledgedCount(): number {
    return this.#unacknowledged.size;
  }

  /** The next entry; `behind` when it must be loaded from the store first. */
  next(): LogEntry | 'caught-up' | 'behind' {
    const entry = this.#page[this.#pageAt] ?? this.#tail.entryAfter(this.#position);
    if (entry === undefined) return this.#position >= this.#tail.last ? 'caught-up' : 'behind';
    if (this.#pageAt < this.#page.length) this.#pageAt++;
    this.#position = entry.sequence;
    return entry;
  }

  /** Loads what follows from the store. */
  async load(): Promise<void> {
    const generation = this.#generation;
    const newest = this.#tail.last;
    const page = await this.#reader.read(this.log, this.#position, PAGE_ENTRIES);
    if (generation !== this.#generation) return;
    this.#page = page;
    this.#pageAt = 0;
    // Nothing there: what was between has been trimmed.
    if (page.length === 0) this.#position = Math.max(this.#position, newest);
  }

  /** The entry awaits its acknowledgement. Returns whether it had been sent before (DUP). */
  sent(sequence: number): boolean {
    const sentBefore = sequence <= this.#sentUpTo;
    this.#unacknowledged.add(sequence);
    this.#sentUpTo = Math.max(this.#sentUpTo, sequence);
    return sentBefore;
  }

  acknowledged(sequence: number): void {
    this.#unacknowledged.delete(sequence);
  }

  /** Goes back to the first entry that is not settled: it is sent again from there. */
  rewind(): void {
    this.#moveTo(this.settled);
  }

  /** The store has lost its newest entries and numbers anew from here. */
  rewindTo(sequence: number): void {
    if (this.#position > sequence) this.#moveTo(Math.min(this.settled, sequence));
  }

  #moveTo(sequence: number): void {
    this.#generation++;
    this.#position = sequence;
    this.#unacknowledged.clear();
    this.#page = [];
    this.#pageAt = 0;
  }
}
