import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Log } from '../log.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const expireAlarms = new Script('expire-alarms', z.number());

const INTERVAL_MS = 3_600_000;
/** A script holds everybody up as long as it runs: some milliseconds for this many. */
const ALARMS_PER_CALL = 200;

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
    const before = now() - maxAgeMs;
    let total = 0;
    while (!this.#stopped) {
      const removed = await expireAlarms.run(
        redis,
        [keys.history],
        [
          ...[before, ALARMS_PER_CALL],
          ...[keys.alarmIndexPrefix, keys.alarmIdsPrefix],
          ...[keys.alarmPlacePrefix, keys.alarmGroupsPrefix],
        ],
      );
      total += removed;
      if (removed < ALARMS_PER_CALL) break;
    }
    return total;
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
