import type { CursorState } from './cursor-state.js';

/** What became of the entries that a cursor is done with (CONTRACT 4.6). */
export class Account {
  delivered: number;
  expired: number;
  dropped: number;
  /** Of the dropped entries, those that the receiver will never take. */
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
