import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { PLAUSIBLE_FROM_MS } from '../../domain/times.js';
import type { Retention } from '../../retention-schedule.js';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { Keys } from '../keys.js';
import type { AuditArchiveRetention, Removed } from './archive-retention.js';
import { auditNumberOf } from './records.js';

/** A command holds everybody up as long as it runs. */
const RECORDS_PER_CALL = 1_000;

export interface AuditRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly archive: AuditArchiveRetention;
  readonly maxAgeMs: number;
  /** Does not jump; wrong from its start on, when it is. */
  readonly now: () => number;
  readonly log: Logger;
}

/**
 * Removes records from the audit trail, the store and the archive, when their time is over. A clock that is wrong must not erase
 * it: when the gateway has started further ahead of the newest record than records are kept, none is
 * removed until its next start. When a record was written by a clock that was not set, nobody knows
 * (CONTRACT 4.7): its time is over when that of one that came after it is.
 */
export class AuditRetention implements Retention {
  readonly #options: AuditRetentionOptions;
  /** By the first look at the trail: later there are records of this clock, right or wrong. */
  #isClockCredible: boolean | undefined;

  constructor(options: AuditRetentionOptions) {
    this.#options = options;
  }

  async removeOld(stopping: AbortSignal): Promise<number> {
    const { keys, archive, maxAgeMs, now } = this.#options;
    await archive.prepare();
    this.#isClockCredible ??= await this.#isCredible();
    if (!this.#isClockCredible) return 0;
    const before = now() - maxAgeMs;
    const indexes = AUDIT_ACTIONS.map((action) => keys.audit(action));
    const archived = await archive.removeBefore(before, stopping);
    let total = archived.count;
    let { last } = archived;
    for (const index of indexes) {
      const removed = await this.#removeBefore(index, before, stopping);
      total += removed.count;
      last = Math.max(last, removed.last);
    }
    for (const index of indexes) total += await this.#removeUndated(index, last, stopping);
    return total + (await archive.removeUndated(last, stopping));
  }

  async #isCredible(): Promise<boolean> {
    const { redis, keys, archive, maxAgeMs, now, log } = this.#options;
    const scores = [archive.newestAtMs ?? 0];
    for (const action of AUDIT_ACTIONS) {
      const [, score] = await redis.zrange(keys.audit(action), -1, -1, 'WITHSCORES');
      scores.push(Number(score ?? 0));
    }
    const times = scores.filter((atMs) => atMs >= PLAUSIBLE_FROM_MS);
    const isCredible = times.length === 0 || now() - Math.max(...times) <= maxAgeMs;
    if (!isCredible) {
      log.error('by the clock every audit record is too old: none is removed until the next start');
    }
    return isCredible;
  }

  /** By name, not by rank: meanwhile others may be moved to the archive. */
  async #removeBefore(index: string, before: number, stopping: AbortSignal): Promise<Removed> {
    const { redis } = this.#options;
    let [count, last] = [0, 0];
    while (!stopping.aborted) {
      const limit = ['LIMIT', 0, RECORDS_PER_CALL] as const;
      const old = await redis.zrangebyscore(index, PLAUSIBLE_FROM_MS, `(${before}`, ...limit);
      for (const member of old) last = Math.max(last, auditNumberOf(member));
      if (old.length > 0) count += await redis.zrem(index, ...old);
      if (old.length < RECORDS_PER_CALL) break;
    }
    return { count, last };
  }

  /** Removes what was written before the record of this number by a clock that was not set. */
  async #removeUndated(index: string, last: number, stopping: AbortSignal): Promise<number> {
    const { redis } = this.#options;
    let [total, kept] = [0, 0];
    while (last > 0 && !stopping.aborted) {
      const limit = ['LIMIT', kept, RECORDS_PER_CALL] as const;
      const undated = await redis.zrangebyscore(index, '-inf', `(${PLAUSIBLE_FROM_MS}`, ...limit);
      const old = undated.filter((member) => auditNumberOf(member) < last);
      if (old.length > 0) total += await redis.zrem(index, ...old);
      kept += undated.length - old.length;
      if (undated.length < RECORDS_PER_CALL) break;
    }
    return total;
  }
}
