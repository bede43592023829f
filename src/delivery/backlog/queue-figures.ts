import type { QueueFigures } from '../../site/queue-figures.js';
import type { Consumer } from '../consumer.js';
import { NO_ACCOUNTS, sumOf, tooMany } from '../queues/account.js';
import { NO_BACKLOG } from '../queues/queue-store.js';
import type { OldestQueued } from './oldest-queued.js';

/**
 * Sums up a queue, which may not be open yet.
 *
 * @param wallTimeOf converts a steady time to the wall time that people see
 */
export async function queueFigures(
  queue: Consumer | undefined,
  oldest: OldestQueued | undefined,
  wallTimeOf: (steadyMs: number) => number,
): Promise<QueueFigures> {
  const { queued: { alarms, messages } = NO_BACKLOG, accounts = NO_ACCOUNTS } = queue ?? {};
  const oldestMs = (await oldest?.receivedAtMs()) ?? null;
  return {
    queued: alarms + messages,
    oldestQueuedAtMs: oldestMs === null ? null : wallTimeOf(oldestMs),
    delivered: sumOf(accounts, ({ delivered }) => delivered),
    dropped: {
      tooOld: sumOf(accounts, ({ expired }) => expired),
      tooMany: sumOf(accounts, tooMany),
      refused: sumOf(accounts, ({ reasons }) => reasons.refused),
      lost: sumOf(accounts, ({ reasons }) => reasons.lost),
    },
  };
}
