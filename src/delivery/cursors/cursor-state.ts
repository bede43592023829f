/** A consumer's saved position and account in one log. */
export interface CursorState {
  /** The ack floor: every entry up to here is done with, or does not concern the consumer. */
  readonly ackFloor: number;
  readonly delivered: number;
  readonly expired: number;
  readonly dropped: number;
  /** The dropped entries that the receiver never takes; absent: none. */
  readonly deadLetters?: number | undefined;
  /** The dropped entries that the store has lost; absent: none. */
  readonly lost?: number | undefined;
  /** Accepted entries after the floor that are not done with, in flight or not. */
  readonly unread: number;
  /** The newest entry when `unread` was counted. */
  readonly countedUpTo: number;
  readonly unreadBytes: number;
  /** The last entry sent; present only while it is above the ack floor. */
  readonly sentUpTo?: number | undefined;
  /** Present only when entries above the ack floor are known one by one. */
  readonly sent?: SentBefore | undefined;
  /** Present only when an entry was sent before its turn. */
  readonly ahead?: SentAheadState | undefined;
}

/** The entries up to `upTo` that are not done with; all others are. */
export interface SentBefore {
  readonly upTo: number;
  readonly sequences: readonly number[];
}

export function freshCursor(newest: number): CursorState {
  const counts = { delivered: 0, expired: 0, dropped: 0, unread: 0, unreadBytes: 0 };
  return { ackFloor: newest, ...counts, countedUpTo: newest };
}

/** Entries done with before their turn, one bit each, so that a long backlog stays small. */
export interface SentAheadState {
  /** The sequence that the first bit is for. */
  readonly first: number;
  readonly bits: string;
}

const BITS = 8;

/** Writes entries done with before their turn; there is at least one. */
export function aheadState(sequences: ReadonlySet<number>): SentAheadState {
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  for (const sequence of sequences) {
    first = Math.min(first, sequence);
    last = Math.max(last, sequence);
  }
  const bits = Buffer.alloc(Math.floor((last - first) / BITS) + 1);
  for (const sequence of sequences) {
    const at = Math.floor((sequence - first) / BITS);
    bits[at] = (bits[at] ?? 0) | (1 << ((sequence - first) % BITS));
  }
  return { first, bits: bits.toString('base64') };
}

/** Reads entries done with before their turn. */
export function* aheadSequences({ first, bits }: SentAheadState): Generator<number> {
  for (const [at, byte] of Buffer.from(bits, 'base64').entries()) {
    for (let bit = 0; bit < BITS; bit++) {
      if ((byte & (1 << bit)) !== 0) yield first + at * BITS + bit;
    }
  }
}
