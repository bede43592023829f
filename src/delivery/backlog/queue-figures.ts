import { NO_ACCOUNTS, sumOf, tooMany } from '../queues/account.js';
import type { Accounts } from '../queues/queue-store.js';

/** What became of the messages of a bridge or webhook, as people are shown it. */
export interface QueueFigures {
  readonly delivered: number;
  readonly dropped: {
    /** Messages older than they are kept. */
    readonly tooOld: number;
    /** Messages beyond the number or size that is kept. */
    readonly tooMany: number;
    /** Dead letters. */
    readonly refused: number;
    /** Messages that the store has lost. */
    readonly lost: number;
  };
}

/** Sums up the accounts of a queue, which may not be open yet. */
export function queueFigures(accounts: Accounts = NO_ACCOUNTS): QueueFigures {
  return {
    delivered: sumOf(accounts, ({ delivered }) => delivered),
    dropped: {
      tooOld: sumOf(accounts, ({ expired }) => expired),
      tooMany: sumOf(accounts, tooMany),
      refused: sumOf(accounts, ({ reasons }) => reasons.refused),
      lost: sumOf(accounts, ({ reasons }) => reasons.lost),
    },
  };
}
