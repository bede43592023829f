import type { SentAheadState } from './sent-ahead.js';

/**
 * Where a consumer is in one log, and what became of what it accepted: as it is saved.
 *
 * Version 1 saved the same without `unread` and `unreadBytes`, and with `toSkip`.
 */
export interface CursorState {
  /** The ack floor: every entry up to here is done with, or does not concern the consumer. */
  readonly ackFloor: number;
  readonly delivered: number;
  readonly expired: number;
  readonly dropped: number;
  /** Of the dropped entries, those that the receiver will never take; absent: none. */
  readonly deadLetters?: number | undefined;
  /** Accepted entries behind the floor that are not done with, in flight or not. */
  readonly unread?: number | undefined;
  /** The newest entry when `unread` was counted. */
  readonly countedUpTo?: number | undefined;
  readonly unreadBytes?: number | undefined;
  /** Version 1: of the dropped entries, those that reading had not passed yet. */
  readonly toSkip?: number | undefined;
  /** The last entry that was sent; only where it awaits its acknowledgement. */
  readonly sentUpTo?: number | undefined;
  /** Only where something behind the floor is done with already. */
  readonly sent?: SentBefore | undefined;
  /** Only where something was sent before its turn. */
  readonly ahead?: SentAheadState | undefined;
}

/** Up to an entry, those that are not done with: everything else up to there is. */
export interface SentBefore {
  readonly upTo: number;
  readonly sequences: readonly number[];
}

export function freshCursor(newest: number): CursorState {
  const counts = { delivered: 0, expired: 0, dropped: 0, unread: 0, unreadBytes: 0 };
  return { ackFloor: newest, ...counts, countedUpTo: newest };
}
