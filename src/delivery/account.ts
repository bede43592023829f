import type { CursorState } from './cursor-state.js';

/** Counts the entries that a cursor is done with, by outcome (CONTRACT 4.6). */
export class Account {
  delivered: number;
  expired: number;
  dropped: number;
  /** The dropped entries that the receiver never takes. */
  deadLetters: number;
  /** Of the expired entries, those that a start may find yet. */
  #missing = 0;

  constructor({ delivered, expired, dropped, deadLetters = 0 }: CursorState) {
    this.delivered = delivered;
    this.expired = expired;
    this.dropped = dropped;
    this.deadLetters = deadLetters;
  }

  get total(): number {
    return this.delivered + this.expired + this.dropped;
  }

  /** At start, entries that were unread may be lost: they count as expired until they are found. */
  missed(count: number): void {
    this.expired += count;
    this.#missing += count;
  }

  /** An entry that was missed, or is new, is in the log. */
  found(): void {
    if (this.#missing === 0) return;
    this.#missing--;
    this.expired--;
  }

  get state(): Pick<CursorState, 'delivered' | 'expired' | 'dropped' | 'deadLetters'> {
    const { delivered, expired, dropped, deadLetters } = this;
    return { delivered, expired, dropped, ...(deadLetters > 0 && { deadLetters }) };
  }
}
