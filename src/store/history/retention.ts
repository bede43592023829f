import { z } from 'zod';
import { PLAUSIBLE_FROM_MS } from '../../domain/notation.js';
import type { Retention } from '../../retention-schedule.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';

const expireHistory = new Script('expire-history', z.number());

/** Redis serves nobody else while a script runs: a few milliseconds for this many. */
const ENTRIES_PER_CALL = 200;

/**
 * Removes entries from the history by age (docs/reference/contract.md, 5).
 *
 * @param now the clock that measures ages
 * @param queuedFrom the number of the first entry that may be in a queue: queues have no records but those of the history
 */
export function historyRetention(
  store: Store,
  maxAgeMs: number,
  now: () => number,
  queuedFrom: () => Promise<number>,
): Retention {
  return {
    removeOld: async (stopping) => {
      const args = { beforeMs: now() - maxAgeMs, plausibleMs: PLAUSIBLE_FROM_MS };
      const first = await queuedFrom();
      let total = 0;
      while (!stopping.aborted) {
        const count = ENTRIES_PER_CALL;
        const removed = await store.run(expireHistory, { ...args, queuedFrom: first, count });
        total += removed;
        if (removed < ENTRIES_PER_CALL) break;
      }
      return total;
    },
  };
}
