import type { SentAheadState } from './sent-ahead.js';

/** What became of the entries that a destination was owed, and where it is: as it is saved. */
export interface CursorState {
  /** Everything up to here is delivered, has fallen out, or did not concern the destination. */
  readonly settled: number;
  readonly delivered: number;
  readonly expired: number;
  readonly dropped: number;
  /** Of the dropped ones, those that reading has not passed yet. */
  readonly toSkip: number;
  /** Of the dropped ones, those that the receiver has refused; absent: none. */
  readonly refused?: number | undefined;
  /** The last entry that was sent; only where it awaits its acknowledgement. */
  readonly sentUpTo?: number | undefined;
  /** Only where something behind an entry in flight is done with already. */
  readonly sent?: SentBefore | undefined;
  /** Only where something was sent before its turn. */
  readonly ahead?: SentAheadState | undefined;
}

/** Up to an entry, those that await their acknowledgement: nothing else up to there is owed. */
interface SentBefore {
  readonly upTo: number;
  readonly sequences: readonly number[];
}

export function freshCursor(newest: number): CursorState {
  return { settled: newest, delivered: 0, expired: 0, dropped: 0, toSkip: 0 };
}
