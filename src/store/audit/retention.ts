import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { PLAUSIBLE_FROM_MS } from '../../domain/times.js';
import type { Retention } from '../../retention-schedule.js';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { Keys } from '../keys.js';
import type { AuditArchiveRetention, Removed } from './archive-retention.js';
import { FirstFailure } from './first-failure.js';
import { auditNumberOf } from './records.js';
import { StartClock } from './start-clock.js';

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
 * Removes records from the audit trail, the store and the archive, when their time is over. A clock that
 * is wrong must not erase it: when the gateway has started further ahead of the newest record than
 * records are kept, none is removed until its next start. When a record was written by a clock that was
 * not set, nobody knows (CONTRACT 4.7): its time is over when that of one that came after it is.
 */
export class AuditRetention implements Retention {
  readonly #options: AuditRetentionOptions;
  readonly #clock: StartClock;
  /** Undefined as long as nobody could tell. */
  #isClockCredible: boolean | undefined;
  /** The highest number that was removed: what could not be removed with it is tried again. */
  #last = 0;

  /** Must be made before this gateway writes its first record. */
  constructor(options: AuditRetentionOptions) {
    this.#options = options;
    this.#clock = new StartClock({ ...options, startedAtMs: options.now() });
  }

  /**
   * A file that cannot be removed, or an archive that cannot be looked at, keeps nothing else from being
   * removed.
   *
   * @throws GatewayError `insufficient-storage` in the end when the disk did not let it, or what the
   *   store answers
   */
  async removeOld(stopping: AbortSignal): Promise<number> {
    const { archive, maxAgeMs, now } = this.#options;
    const failures = new FirstFailure();
    const isArchiveKnown = await failures.attempt(async () => {
      await archive.prepare();
      return true;
    });
    this.#isClockCredible ??= await this.#judge(isArchiveKnown ?? false);
    const total = this.#isClockCredible
      ? await this.#removeAll(now() - maxAgeMs, failures, stopping)
      : 0;
    failures.tell();
    return total;
  }

  async #judge(isArchiveKnown: boolean): Promise<boolean | undefined> {
    const isCredible = await this.#clock.isCredible(isArchiveKnown);
    if (isCredible === false) {
      const { log } = this.#options;
      log.error('by the clock every audit record is too old: none is removed until the next start');
    }
    return isCredible;
  }

  /** The store first: it is the one that must not become full. */
  async #removeAll(before: number, failures: FirstFailure, stopping: AbortSignal): Promise<number> {
    const { keys, archive } = this.#options;
    const indexes = AUDIT_ACTIONS.map((action) => keys.audit(action));
    let total = 0;
    for (const index of indexes) {
      total += this.#noted(await this.#removeBefore(index, before, stopping));
    }
    total += this.#noted(await archive.removeBefore(before, failures, stopping));
    for (const index of indexes) total += await this.#removeUndated(index, this.#last, stopping);
    return total + (await archive.removeUndated(this.#last, failures, stopping));
  }

  #noted({ count, last }: Removed): number {
    this.#last = Math.max(this.#last, last);
    return count;
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
