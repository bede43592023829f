/** Those that are done with, as a bit each, so that a long backlog stays small when it is saved. */
export interface SentAheadState {
  /** The sequence that the first bit is for. */
  readonly first: number;
  readonly bits: string;
}

const BITS = 8;

/** The entries behind a cursor's position that were sent before their turn. */
export class SentAhead {
  readonly #inFlight = new Set<number>();
  readonly #done: Set<number>;

  constructor(state: SentAheadState | undefined) {
    this.#done = new Set(state === undefined ? [] : sequencesOf(state));
  }

  get inFlightCount(): number {
    return this.#inFlight.size;
  }

  /** Undefined when there are none that are done with. */
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

  sent(sequence: number): void {
    this.#inFlight.add(sequence);
  }

  /** It awaits no acknowledgement any more. Returns whether it did. */
  settle(sequence: number): boolean {
    if (!this.#inFlight.delete(sequence)) return false;
    this.#done.add(sequence);
    return true;
  }

  /** Its turn has come: it is not ahead any more. What it is, undefined for what was not ahead. */
  pass(sequence: number): 'in-flight' | 'done' | undefined {
    if (this.#inFlight.delete(sequence)) return 'in-flight';
    return this.#done.delete(sequence) ? 'done' : undefined;
  }

  /** What was in flight is to be sent again. Returns how many that were. */
  rewind(): number {
    const count = this.#inFlight.size;
    this.#inFlight.clear();
    return count;
  }

  /** There is nothing behind this sequence any more. Returns how many of those were in flight. */
  cutAt(sequence: number): number {
    for (const done of this.#done) if (done > sequence) this.#done.delete(done);
    const lost = [...this.#inFlight].filter((sent) => sent > sequence);
    for (const sent of lost) this.#inFlight.delete(sent);
    return lost.length;
  }

  /** The cursor reads nothing any more up to the end of its log. Returns whether there were any. */
  forgetDone(): boolean {
    const hadSome = this.#done.size > 0;
    this.#done.clear();
    return hadSome;
  }
}

function* sequencesOf({ first, bits }: SentAheadState): Generator<number> {
  for (const [at, byte] of Buffer.from(bits, 'base64').entries()) {
    for (let bit = 0; bit < BITS; bit++) {
      if ((byte & (1 << bit)) !== 0) yield first + at * BITS + bit;
    }
  }
}
