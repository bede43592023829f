import type { CursorState } from './cursor-state.js';

/** Counts the entries that a cursor is done with, by outcome (CONTRACT 4.6). */
export class Account {
  delivered: number;
  expired: number;
  dropped: number;
  /** The dropped entries that the receiver never takes. */
  deadLetters: number;

  constructor({ delivered, expired, dropped, deadLetters = 0 }: CursorState) {
    this.delivered = delivered;
    this.expired = expired;
    this.dropped = dropped;
    this.deadLetters = deadLetters;
  }

  get total(): number {
    return this.delivered + this.expired + this.dropped;
  }

  get state(): Pick<CursorState, 'delivered' | 'expired' | 'dropped' | 'deadLetters'> {
    const { delivered, expired, dropped, deadLetters } = this;
    return { delivered, expired, dropped, ...(deadLetters > 0 && { deadLetters }) };
  }
}
