import { bytesOfMessage, type Entry, ownPayload } from './message.js';
import type { NewEntry } from './new-entry.js';

/** Beyond these bounds the older half is forgotten. */
const MAX_ENTRIES = 2_000;
const MAX_BYTES = 4 * 1024 * 1024;
/** Memory of an entry besides its payload and the device's text, which is no longer than the payload. */
const ENTRY_BYTES = 1_024;

/** The newest entries of this run, in memory: a store that loses its newest gets them again from here. */
export class Recent {
  #entries: Entry[] = [];
  #bytes = 0;
  #last: number;
  #above: number;

  /** @param last the number of the newest entry in the store */
  constructor(last: number) {
    this.#last = last;
    this.#above = last;
  }

  /** The number of the newest entry that is stored, as far as known. */
  get last(): number {
    return this.#last;
  }

  /** The highest number ever seen. */
  get above(): number {
    return this.#above;
  }

  /** Adds the next entry. */
  append(entry: Entry): void {
    ownPayload(entry);
    if (entry.source !== undefined) entry.source.payload = entry.payload;
    this.#entries.push(entry);
    this.#bytes += memoryOf(entry);
    this.#last = entry.sequence;
    this.#above = Math.max(this.#above, entry.sequence);
    if (this.#entries.length > MAX_ENTRIES || this.#bytes > MAX_BYTES)
      this.#keep(this.#entries.slice(Math.ceil(this.#entries.length / 2)));
  }

  /** Forgets the entries after this one, the newest left in the store. Returns them, in order. */
  cutAfter(last: number): NewEntry[] {
    const lost = this.#entries.filter(({ sequence }) => sequence > last);
    this.#keep(this.#entries.filter(({ sequence }) => sequence <= last));
    this.#last = last;
    return lost.flatMap(({ source }) => source ?? []);
  }

  #keep(entries: Entry[]): void {
    this.#entries = entries;
    this.#bytes = entries.reduce((bytes, entry) => bytes + memoryOf(entry), 0);
  }
}

/** Roughly how much memory an entry takes. */
function memoryOf(entry: Entry): number {
  return ENTRY_BYTES + 2 * bytesOfMessage(entry);
}
