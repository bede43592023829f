import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Retention } from '../../retention-schedule.js';
import type { Keys } from '../keys.js';
import type { AuditArchive } from './archive.js';
import type { AuditSegment } from './segment.js';

/** A record outlives its age by at most this fraction of it. */
const MARKS_PER_AGE = 365;

const markSchema = z.tuple([z.coerce.number(), z.coerce.number()]).optional();

export interface AuditRetentionOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly archive: AuditArchive;
  /** How long records are kept. */
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

/**
 * Marks which number the trail had reached, and when, by the steady clock.
 *
 * Records are numbered in the order of writing. Their own times are the machine's, and may be years off
 * (CONTRACT 4.7).
 */
class AuditNumberMarks {
  readonly #options: AuditRetentionOptions;

  constructor(options: AuditRetentionOptions) {
    this.#options = options;
  }

  /** Marks the newest number, unless the last mark is recent. */
  async mark(): Promise<void> {
    const { redis, keys, maxAgeMs, now } = this.#options;
    const number = Number((await redis.get(keys.auditSequence)) ?? 0);
    // Read after the answer, which may be late: every record up to this number is older than this.
    const nowMs = now();
    const reply = await redis.zrevrange(keys.auditMarks, 0, 0, 'WITHSCORES');
    const [lastNumber, lastAtMs] = readMark(reply) ?? [0, Number.NEGATIVE_INFINITY];
    if (number <= lastNumber || nowMs - lastAtMs < maxAgeMs / MARKS_PER_AGE) return;
    await redis.zadd(keys.auditMarks, 'NX', nowMs, number);
  }

  /** Finds the number up to which all records are too old; 0 for none. */
  async lastTooOld(): Promise<number> {
    const { redis, keys, maxAgeMs, now } = this.#options;
    const before = `(${now() - maxAgeMs}`;
    const limit = ['WITHSCORES', 'LIMIT', 0, 1] as const;
    const reply = await redis.zrevrangebyscore(keys.auditMarks, before, '-inf', ...limit);
    const mark = readMark(reply);
    if (mark === undefined) return 0;
    const [number, atMs] = mark;
    await redis.zremrangebyscore(keys.auditMarks, '-inf', `(${atMs}`);
    return number;
  }
}

/** The number and the time of the first mark. */
function readMark(reply: readonly string[]): readonly [number, number] | undefined {
  return markSchema.parse(reply.length === 0 ? undefined : reply);
}
