import { z } from 'zod';
import { PLAUSIBLE_FROM_MS } from '../../domain/notation.js';
import type { Retention } from '../../retention-schedule.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';

const expireAlarms = new Script('expire-alarms', z.number());
const entriesSchema = z.array(z.tuple([z.string(), z.array(z.string())]));
/** 0 for a value that is not a time: the age is unknown, as for a time before any gateway existed. */
const timeSchema = z.coerce.number().catch(0);

/** Redis serves nobody else while a script runs: a few milliseconds for this many. */
const ALARMS_PER_CALL = 200;
/** The field with an entry's time by the steady clock. */
const STEADY_AT = 't';

export interface AlarmRetentionOptions {
  readonly store: Store;
  readonly keys: Keys;
  readonly maxAgeMs: number;
  /** The clock that measures ages. */
  readonly now: () => number;
  /** The number of the first entry that may be in a queue. Queues have no records but those of the history. */
  readonly queuedFrom: () => Promise<number>;
}

/** Removes alarms from the history by age (docs/reference/contract.md, 5). */
export class AlarmRetention implements Retention {
  readonly #options: AlarmRetentionOptions;

  constructor(options: AlarmRetentionOptions) {
    this.#options = options;
  }

  async removeOld(stopping: AbortSignal): Promise<number> {
    const { store, keys, maxAgeMs, now } = this.#options;
    const queuedFrom = await this.#options.queuedFrom();
    const last = await this.#lastBefore(now() - maxAgeMs, queuedFrom, stopping);
    let total = 0;
    while (!stopping.aborted) {
      const removed = await store.run(
        expireAlarms,
        [keys.history],
        [
          last,
          ALARMS_PER_CALL,
          keys.alarmIndexPrefix,
          keys.alarmIdsPrefix,
          keys.alarmGroupsPrefix,
          keys.alarmStatesPrefix,
          keys.openAlarmIndexPrefix,
          queuedFrom,
          keys.proofPrefix,
        ],
      );
      total += removed;
      if (removed < ALARMS_PER_CALL) break;
    }
    return total;
  }

  /**
   * Finds the newest alarm that may be removed; 0 for none.
   *
   * The age of a damaged record is unknown: it expires with the next alarm of known age.
   */
  async #lastBefore(timeMs: number, queuedFrom: number, stopping: AbortSignal): Promise<number> {
    const { store, keys } = this.#options;
    let last = 0;
    for (let from = '-'; !stopping.aborted; ) {
      const start = from;
      const reply = await store.read((redis) =>
        redis.xrange(keys.history, start, '+', 'COUNT', ALARMS_PER_CALL),
      );
      const entries = entriesSchema.parse(reply);
      for (const [id, fields] of entries) {
        const sequence = Number.parseInt(id, 10);
        const atMs = timeOf(fields);
        if (atMs >= timeMs || sequence >= queuedFrom) return last;
        if (atMs >= PLAUSIBLE_FROM_MS) last = sequence;
        from = `(${id}`;
      }
      if (entries.length < ALARMS_PER_CALL) break;
    }
    return last;
  }
}

function timeOf(fields: readonly string[]): number {
  const at = fields.findIndex((name, index) => index % 2 === 0 && name === STEADY_AT);
  return timeSchema.parse(fields[at + 1]);
}
