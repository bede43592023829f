import type { Redis } from 'ioredis';
import { z } from 'zod';
import { PLAUSIBLE_FROM_MS } from '../domain/times.js';
import type { Retention } from '../retention-schedule.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const expireAlarms = new Script('expire-alarms', z.number());
const entriesSchema = z.array(z.tuple([z.string(), z.array(z.string())]));
const timeSchema = z.coerce.number();

/** A script holds everybody up as long as it runs: some milliseconds for this many. */
const ALARMS_PER_CALL = 200;
const RECEIVED_AT = 'r';

export interface AlarmRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly maxAgeMs: number;
  readonly now: () => number;
}

/** Removes alarms from the history when their time is over (CONTRACT 5). */
export class AlarmRetention implements Retention {
  readonly #options: AlarmRetentionOptions;

  constructor(options: AlarmRetentionOptions) {
    this.#options = options;
  }

  async removeOld(stopping: AbortSignal): Promise<number> {
    const { redis, keys, maxAgeMs, now } = this.#options;
    const last = await this.#lastReceivedBefore(now() - maxAgeMs, stopping);
    let total = 0;
    while (!stopping.aborted) {
      const removed = await expireAlarms.run(
        redis,
        [keys.history],
        [
          ...[last, ALARMS_PER_CALL],
          ...[keys.alarmIndexPrefix, keys.alarmIdsPrefix],
          ...[keys.alarmPlacePrefix, keys.alarmGroupsPrefix],
        ],
      );
      total += removed;
      if (removed < ALARMS_PER_CALL) break;
    }
    return total;
  }

  /**
   * The last alarm of those at the beginning of the history whose time is over; 0 for none. When one
   * was received by a clock that was not set, nobody knows (CONTRACT 4.7): its time is over when that of
   * one that came after it is.
   */
  async #lastReceivedBefore(timeMs: number, stopping: AbortSignal): Promise<number> {
    const { redis, keys } = this.#options;
    let last = 0;
    for (let from = '-'; !stopping.aborted; ) {
      const reply = await redis.xrange(keys.history, from, '+', 'COUNT', ALARMS_PER_CALL);
      const entries = entriesSchema.parse(reply);
      for (const [id, fields] of entries) {
        const receivedAtMs = timeSchema.parse(fields[fields.indexOf(RECEIVED_AT) + 1]);
        if (receivedAtMs >= timeMs) return last;
        if (receivedAtMs >= PLAUSIBLE_FROM_MS) last = Number.parseInt(id, 10);
        from = `(${id}`;
      }
      if (entries.length < ALARMS_PER_CALL) break;
    }
    return last;
  }
}
