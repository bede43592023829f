import type { Redis } from 'ioredis';
import type { Retention } from '../retention-schedule.js';
import { AUDIT_ACTIONS } from '../site/audit-trail.js';
import type { Keys } from './keys.js';

/** A command holds everybody up as long as it runs. */
const RECORDS_PER_CALL = 1_000;

export interface AuditRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly maxAgeMs: number;
  readonly now: () => number;
}

/** Removes records from the audit trail when their time is over. */
export class AuditRetention implements Retention {
  readonly #options: AuditRetentionOptions;

  constructor(options: AuditRetentionOptions) {
    this.#options = options;
  }

  async removeOld(stopping: AbortSignal): Promise<number> {
    const { keys, maxAgeMs, now } = this.#options;
    const before = now() - maxAgeMs;
    let total = 0;
    for (const action of AUDIT_ACTIONS) {
      total += await this.#remove(keys.audit(action), before, stopping);
    }
    return total;
  }

  /** By name, not by rank: meanwhile others may fall out of the set. */
  async #remove(index: string, before: number, stopping: AbortSignal): Promise<number> {
    const { redis } = this.#options;
    let total = 0;
    while (!stopping.aborted) {
      const limit = ['LIMIT', 0, RECORDS_PER_CALL] as const;
      const old = await redis.zrangebyscore(index, '-inf', `(${before}`, ...limit);
      if (old.length > 0) total += await redis.zrem(index, ...old);
      if (old.length < RECORDS_PER_CALL) break;
    }
    return total;
  }
}
