import type { Redis } from 'ioredis';
import type { Retention } from '../../retention-schedule.js';
import { AUDIT_ACTIONS } from '../../site/audit-trail.js';
import type { Keys } from '../keys.js';
import type { AuditArchiveRetention } from './archive-retention.js';
import { FirstFailure } from './first-failure.js';
import { AuditNumberMarks } from './number-marks.js';
import { auditNumberOf } from './records.js';

/** A command holds everybody up as long as it runs. */
const RECORDS_PER_CALL = 1_000;

export interface AuditRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly archive: AuditArchiveRetention;
  readonly maxAgeMs: number;
  /** By which ages are measured. */
  readonly now: () => number;
}

/**
 * Removes records from the audit trail, the store and the archive, when their time is over.
 *
 * Their age is that of their number: the time of a record is the machine's, which must not erase the
 * trail when it is wrong (CONTRACT 4.7). What an earlier version has written counts from the first run on.
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
   * A file that cannot be removed, or an archive that cannot be looked at, keeps nothing else from being
   * removed.
   *
   * @throws GatewayError `insufficient-storage` in the end when the disk did not let it, or what the
   *   store answers
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
    // The store first: it is the one that must not become full.
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
      // By name, not by rank: meanwhile others may be moved to the archive.
      if (old.length > 0) total += await redis.zrem(index, ...old);
      kept += some.length - old.length;
      if (some.length < RECORDS_PER_CALL) break;
    }
    return total;
  }
}
