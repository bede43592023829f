import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { AlarmHistory, AlarmPage, AlarmQuery } from '../site/alarm-history.js';
import { readAlarmRecord } from './alarm-records.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const rowSchema = z.tuple([z.coerce.number(), z.coerce.number(), z.array(z.string())]);
const alarmPage = new Script('alarm-page', z.tuple([z.coerce.number(), z.array(rowSchema)]));

/** Digits of a member of an alarm index (record-alarms.lua). */
const MEMBER_DIGITS = 12;

/** The alarm history in Redis. */
export class AlarmHistoryRedis implements AlarmHistory {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async page(query: AlarmQuery): Promise<AlarmPage> {
    const { locationId, deviceId, position, limit } = query;
    const indexes = query.kinds.map((kind) => this.#keys.alarmIndex(locationId, deviceId, kind));
    const [upToSequence, rows] = await answering(() =>
      alarmPage.run(
        this.#redis,
        [this.#keys.history, this.#keys.logSequence('alarms'), ...indexes],
        [
          query.order,
          query.afterMs ?? '',
          query.beforeMs ?? '',
          limit,
          query.upToSequence ?? '',
          position?.detectedAtMs ?? '',
          position === undefined ? '' : String(position.sequence).padStart(MEMBER_DIGITS, '0'),
        ],
      ),
    );
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1) : undefined;
    return {
      alarms: shown.map(([, , fields]) => readAlarmRecord(fields)),
      next: last === undefined ? undefined : { detectedAtMs: last[0], sequence: last[1] },
      upToSequence,
    };
  }
}
