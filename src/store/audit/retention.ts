import type { Redis } from 'ioredis';
import type { Retention } from '../../retention-schedule.js';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { Keys } from '../keys.js';
import type { AuditArchiveRetention } from './archive-retention.js';
import { FirstFailure } from './first-failure.js';
import { AuditNumberMarks } from './number-marks.js';
import { auditNumberOf } from './records.js';

/** Redis serves nobody else during a command. */
const RECORDS_PER_CALL = 1_000;

export interface AuditRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly archive: AuditArchiveRetention;
  readonly maxAgeMs: number;
  /** The clock that ages are measured by. */
  readonly now: () => number;
}

/**
 * Removes audit records that are too old from store and archive.
 *
 * A record's age is that of its number: its time is the machine's, and a wrong clock must not erase the
 * trail (CONTRACT 4.7). Records of an earlier version age from the first run of this one.
 */
export class AuditRetention implements Retention {
  readonly #options: AuditRetentionOptions;
  readonly #marks: AuditNumberMarks;
  /** The number up to which everything was removed by this gateway. */
  #removedUpTo = 0;

  constructor(options: AuditRetentionOptions) {
    this.#options = options;
    this.#marks = new AuditNumberMarks(options);
  }

  /**
   * Removes what it can: an unremovable file or unreadable archive holds up nothing else.
   *
   * @throws GatewayError `insufficient-storage` in the end when the disk refused, or the store's error
   */
  async removeOld(stopping: AbortSignal): Promise<number> {
    const { keys, archive } = this.#options;
    const failures = new FirstFailure();
    await failures.attempt(() => archive.prepare());
    await this.#marks.mark();
    const last = await this.#marks.lastTooOld();
    if (last <= this.#removedUpTo) {
      failures.tell();
      return 0;
    }
    let total = 0;
    // The store goes first: a full one is worse than a full archive.
    for (const action of AUDIT_ACTIONS) {
      total += await this.#removeUpTo(last, keys.audit(action), stopping);
    }
    total += await archive.removeUpTo(last, failures, stopping);
    failures.tell();
    if (!stopping.aborted) this.#removedUpTo = last;
    return total;
  }

  async #removeUpTo(last: number, index: string, stopping: AbortSignal): Promise<number> {
    const { redis } = this.#options;
    let [total, kept] = [0, 0];
    while (!stopping.aborted) {
      const some = await redis.zrange(index, kept, kept + RECORDS_PER_CALL - 1);
      const old = some.filter((member) => auditNumberOf(member) <= last);
      // Removed by name, not by rank: meanwhile others may be moved to the archive.
      if (old.length > 0) total += await redis.zrem(index, ...old);
      kept += some.length - old.length;
      if (some.length < RECORDS_PER_CALL) break;
    }
    return total;
  }
}
