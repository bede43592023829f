import type { Redis } from 'ioredis';
import type { Retention } from '../../retention-schedule.js';
import type { Keys } from '../keys.js';
import type { AuditArchive } from './archive.js';
import { AuditNumberMarks } from './number-marks.js';
import type { AuditSegment } from './segment.js';

export interface AuditRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly archive: AuditArchive;
  readonly maxAgeMs: number;
  /** The clock that ages are measured by. */
  readonly now: () => number;
}

/**
 * Removes audit records that are too old from stream and archive.
 *
 * A record's age is that of its number: its time is the machine's, and a wrong clock must not erase the
 * trail (CONTRACT 4.7).
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
    const { redis, keys, archive } = this.#options;
    const failures: unknown[] = [];
    const failed = (error: unknown): number => {
      failures.push(error);
      return 0;
    };
    await archive.load().catch(failed);
    await this.#marks.mark();
    const last = await this.#marks.lastTooOld();
    let total = 0;
    if (last > this.#removedUpTo) {
      // The store goes first: a full one is worse than a full archive.
      total += await redis.xtrim(keys.auditLog, 'MINID', last + 1);
      for (const segment of this.#segmentsUpTo(last)) {
        if (stopping.aborted) return total;
        total += await this.#removeFrom(segment, last).catch(failed);
      }
    }
    if (failures.length > 0) throw failures[0];
    this.#removedUpTo = last;
    return total;
  }

  /** Oldest first: on a full disk, wholly old segments make room for those rewritten. */
  #segmentsUpTo(last: number): AuditSegment[] {
    const old = this.#options.archive.segments().filter((one) => one.lowestSequence <= last);
    return old.sort((one, other) => one.highestSequence - other.highestSequence);
  }

  /** Counts nothing for an unreadable segment, whose number of records is unknown. */
  async #removeFrom(segment: AuditSegment, last: number): Promise<number> {
    const { archive } = this.#options;
    const all = await archive.read(segment);
    const kept = all?.filter(({ sequence }) => sequence > last) ?? [];
    // One that cannot be read stays until all of it is too old.
    if (all === undefined && segment.highestSequence > last) return 0;
    if (kept.length > 0) await archive.write(kept);
    await archive.remove(segment);
    return (all?.length ?? 0) - kept.length;
  }
}
