import type { SentAheadState } from './sent-ahead.js';

/**
 * A consumer's saved position and account in one log.
 *
 * Version 1 saved the same without `unread` and `unreadBytes`, and with `toSkip`.
 */
export interface CursorState {
  /** The ack floor: every entry up to here is done with, or does not concern the consumer. */
  readonly ackFloor: number;
  readonly delivered: number;
  readonly expired: number;
  readonly dropped: number;
  /** The dropped entries that the receiver never takes; absent: none. */
  readonly deadLetters?: number | undefined;
  /** Accepted entries after the floor that are not done with, in flight or not. */
  readonly unread?: number | undefined;
  /** The newest entry when `unread` was counted. */
  readonly countedUpTo?: number | undefined;
  readonly unreadBytes?: number | undefined;
  /** Version 1: dropped entries that the offset had not passed yet. */
  readonly toSkip?: number | undefined;
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
