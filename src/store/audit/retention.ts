import type { Retention } from '../../retention-schedule.js';
import type { Keys } from '../keys.js';
import type { Store } from '../store.js';
import { readRecords } from './records.js';

export interface AuditRetentionOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly maxAgeMs: number;
  /** The steady clock: the machine's may be wrong, and must not erase the trail. */
  readonly now: () => number;
}

/** Removes audit records that are too old. write-change.lua bounds their number. */
export class AuditRetention implements Retention {
  readonly #options: AuditRetentionOptions;

  constructor(options: AuditRetentionOptions) {
    this.#options = options;
  }

  async removeOld(stopping: AbortSignal): Promise<number> {
    const { store, keys, maxAgeMs, now } = this.#options;
    const streams = [keys.auditChanges, keys.auditDenials];
    const keptFromMs = now() - maxAgeMs;
    let removed = 0;
    while (!stopping.aborted) {
      const { records } = await readRecords(store, streams, 'asc', 0, Number.MAX_SAFE_INTEGER);
      const firstKept = records.findIndex(({ steadyMs }) => steadyMs >= keptFromMs);
      const last = (firstKept === -1 ? records : records.slice(0, firstKept)).at(-1);
      if (last === undefined) break;
      for (const key of streams) {
        const [trimmed] = await store.write(['XTRIM', key, 'MINID', String(last.sequence + 1)]);
        removed += Number(trimmed);
      }
    }
    return removed;
  }
}
