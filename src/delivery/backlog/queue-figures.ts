import type { QueueFigures } from '../../site/queue-figures.js';
import { NO_ACCOUNTS, sumOf, tooMany } from '../queues/account.js';
import type { Accounts } from '../queues/queue-store.js';

/** Sums up the accounts of a queue. The queue may not be open yet. */
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
