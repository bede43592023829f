/** Entries done with, one bit each, so that a long backlog stays small. */
export interface SentAheadState {
  /** The sequence that the first bit is for. */
  readonly first: number;
  readonly bits: string;
}

const BITS = 8;

/** The entries after a cursor's offset that were sent before their turn. */
export class SentAhead {
  /** Sequence → bytes of payload. */
  readonly #inFlight = new Map<number, number>();
  readonly #done: Set<number>;

  constructor(state?: SentAheadState) {
    this.#done = new Set(state === undefined ? [] : sequencesOf(state));
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  get inFlightBytes(): number {
    let bytes = 0;
    for (const one of this.#inFlight.values()) bytes += one;
    return bytes;
  }

  /** Undefined when no entry is done with. */
  get state(): SentAheadState | undefined {
    if (this.#done.size === 0) return undefined;
    let [first, last] = [Number.POSITIVE_INFINITY, 0];
    for (const sequence of this.#done) {
      first = Math.min(first, sequence);
      last = Math.max(last, sequence);
    }
    const bits = Buffer.alloc(Math.floor((last - first) / BITS) + 1);
    for (const sequence of this.#done) {
      const at = Math.floor((sequence - first) / BITS);
      bits[at] = (bits[at] ?? 0) | (1 << ((sequence - first) % BITS));
    }
    return { first, bits: bits.toString('base64') };
  }

  has(sequence: number): boolean {
    return this.#inFlight.has(sequence) || this.#done.has(sequence);
  }

  /** How many entries after this sequence were sent ahead, done with or not. */
  countAfter(sequence: number): number {
    let count = 0;
    for (const sent of this.#inFlight.keys()) if (sent > sequence) count++;
    for (const done of this.#done) if (done > sequence) count++;
    return count;
  }

  sent(sequence: number, bytes: number): void {
    this.#inFlight.set(sequence, bytes);
  }

  /** Takes an entry out of flight. Returns whether it was in flight. */
  complete(sequence: number): boolean {
    if (!this.#inFlight.delete(sequence)) return false;
    this.#done.add(sequence);
    return true;
  }

  /** Passes an entry. Returns the bytes of one in flight; undefined for one not ahead. */
  pass(sequence: number): number | 'done' | undefined {
    const bytes = this.#inFlight.get(sequence);
    if (bytes !== undefined) {
      this.#inFlight.delete(sequence);
      return bytes;
    }
    return this.#done.delete(sequence) ? 'done' : undefined;
  }

  /** Passes all entries up to this one. Returns those in flight. */
  passAllUpTo(sequence: number): [sequence: number, bytes: number][] {
    for (const done of this.#done) if (done <= sequence) this.#done.delete(done);
    const passed = [...this.#inFlight].filter(([sent]) => sent <= sequence);
    for (const [sent] of passed) this.#inFlight.delete(sent);
    return passed.sort(([one], [other]) => one - other);
  }

  /** Forgets the entries in flight, which are sent again. */
  rewind(): void {
    this.#inFlight.clear();
  }

  /** Cuts at the log's new end. Returns how many lost entries were in flight. */
  cutAt(sequence: number): number {
    for (const done of this.#done) if (done > sequence) this.#done.delete(done);
    const lost = [...this.#inFlight.keys()].filter((sent) => sent > sequence);
    for (const sent of lost) this.#inFlight.delete(sent);
    return lost.length;
  }

  /** Forgets the entries done with, once the cursor is at the end of its log. */
  forgetDone(): void {
    this.#done.clear();
  }
}

function* sequencesOf({ first, bits }: SentAheadState): Generator<number> {
  for (const [at, byte] of Buffer.from(bits, 'base64').entries()) {
    for (let bit = 0; bit < BITS; bit++) {
      if ((byte & (1 << bit)) !== 0) yield first + at * BITS + bit;
    }
  }
}
