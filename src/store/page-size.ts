import { bytesOfMessage, type Sized } from '../delivery/log/log-entry.js';

/** A page takes roughly this much memory, whatever the size of its entries. */
const PAGE_BYTES = 4 * 1024 * 1024;
const MIN_ENTRIES = 4;
/** The assumed size of an entry before any was read. */
const UNKNOWN_BYTES = 65_536;
/** A large entry is remembered for several reads. */
const DECAY = 0.9;

/** Decides how many entries a read of a queue asks for. */
export class PageSize {
  /** Roughly, of recently read entries; undefined before the first. */
  #largestBytes: number | undefined;

  /** How many entries to ask for when this many are wanted. */
  fitting(count: number): number {
    const bytes = Math.max(1, this.#largestBytes ?? UNKNOWN_BYTES);
    return Math.min(count, Math.max(MIN_ENTRIES, Math.floor(PAGE_BYTES / bytes)));
  }

  /** Notes entries read. */
  noteRead(entries: readonly Sized[]): void {
    if (entries.length === 0) return;
    const sizes = entries.map(bytesOfMessage);
    this.#largestBytes = Math.max(DECAY * (this.#largestBytes ?? 0), ...sizes);
  }
}
