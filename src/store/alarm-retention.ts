import type { Redis } from 'ioredis';
import { z } from 'zod';
import { PLAUSIBLE_FROM_MS } from '../domain/times.js';
import type { Log } from '../log.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const expireAlarms = new Script('expire-alarms', z.number());
const entriesSchema = z.array(z.tuple([z.string(), z.array(z.string())]));
const timeSchema = z.coerce.number();

const INTERVAL_MS = 3_600_000;
/** A script holds everybody up as long as it runs: some milliseconds for this many. */
const ALARMS_PER_CALL = 200;
const RECEIVED_AT = 'r';

export interface AlarmRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly maxAgeMs: number;
  readonly log: Log;
  readonly now: () => number;
}

/** Removes alarms from the history when their time is over (CONTRACT 5). */
export class AlarmRetention {
  readonly #options: AlarmRetentionOptions;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: AlarmRetentionOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.#runInBackground(), INTERVAL_MS);
    this.#runInBackground();
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  /** Removes every alarm that is too old; returns how many there were. */
  async run(): Promise<number> {
    const { redis, keys, maxAgeMs, now } = this.#options;
    const last = await this.#lastReceivedBefore(now() - maxAgeMs);
    let total = 0;
    while (!this.#stopped) {
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
  async #lastReceivedBefore(timeMs: number): Promise<number> {
    const { redis, keys } = this.#options;
    let last = 0;
    for (let from = '-'; !this.#stopped; ) {
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

  #runInBackground(): void {
    const { log } = this.#options;
    this.run()
      .then((removed) => {
        if (removed > 0) log.info({ removed }, 'alarms removed, their time in the history is over');
      })
      .catch((error: unknown) => log.warn({ err: error }, 'old alarms not removed, trying again'));
  }
}
