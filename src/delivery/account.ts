import type { CursorState } from './cursor-state.js';

/** What became of the entries that a cursor is done with (CONTRACT 4.6). */
export class Account {
  delivered: number;
  expired: number;
  dropped: number;
  /** Of the dropped entries, those that the receiver will never take. */
  refused: number;

  constructor({ delivered, expired, dropped, refused = 0 }: CursorState) {
    this.delivered = delivered;
    this.expired = expired;
    this.dropped = dropped;
    this.refused = refused;
  }

  get total(): number {
    return this.delivered + this.expired + this.dropped;
  }

  get state(): Pick<CursorState, 'delivered' | 'expired' | 'dropped' | 'refused'> {
    const { delivered, expired, dropped, refused } = this;
    return { delivered, expired, dropped, ...(refused > 0 && { refused }) };
  }
}
