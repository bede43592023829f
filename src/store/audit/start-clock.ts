import type { Redis } from 'ioredis';
import { PLAUSIBLE_FROM_MS } from '../../domain/times.js';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { Keys } from '../keys.js';
import type { AuditArchiveRetention } from './archive-retention.js';

/** An expiry is entered at the token's end, which somebody chose: it is of no clock. */
export const CLOCKED_ACTIONS = AUDIT_ACTIONS.filter((action) => action !== 'access-token.expired');

export interface StartClockOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly archive: AuditArchiveRetention;
  readonly maxAgeMs: number;
  /** By the clock that is judged; nothing has been written by it yet. */
  readonly startedAtMs: number;
}

/**
 * Judges the clock with which the gateway has started by the newest record from before: what comes later
 * is of this clock itself, right or wrong. So the judgement is the same whenever it is made, also when
 * the store or the archive does not answer for hours.
 */
export class StartClock {
  readonly #options: StartClockOptions;

  constructor(options: StartClockOptions) {
    // Records have whole milliseconds: what is written in the same one does not come before.
    this.#options = { ...options, startedAtMs: Math.floor(options.startedAtMs) };
  }

  /**
   * Whether it is at most as far ahead of the newest record as records are kept, or there is none. Undefined
   * when only the archive could tell, and it cannot be looked at.
   */
  async isCredible(isArchiveKnown: boolean): Promise<boolean | undefined> {
    const { archive, startedAtMs } = this.#options;
    const stored = await this.#newestStored();
    if (stored !== undefined && this.#isNear(stored)) return true;
    if (!isArchiveKnown) return undefined;
    const archived = await archive.newestBefore(startedAtMs, CLOCKED_ACTIONS);
    if (archived === undefined) return stored === undefined;
    return this.#isNear(archived);
  }

  #isNear(atMs: number): boolean {
    const { startedAtMs, maxAgeMs } = this.#options;
    return startedAtMs - atMs <= maxAgeMs;
  }

  async #newestStored(): Promise<number | undefined> {
    const { redis, keys, startedAtMs } = this.#options;
    let newest: number | undefined;
    for (const action of CLOCKED_ACTIONS) {
      const [, score] = await redis.zrevrangebyscore(
        keys.audit(action),
        ...([`(${startedAtMs}`, PLAUSIBLE_FROM_MS, 'WITHSCORES', 'LIMIT', 0, 1] as const),
      );
      if (score !== undefined) newest = Math.max(newest ?? 0, Number(score));
    }
    return newest;
  }
}
