import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Keys } from '../keys.js';

/** A record outlives its age by at most this fraction of it. */
const MARKS_PER_AGE = 365;

const markSchema = z.tuple([z.coerce.number(), z.coerce.number()]).optional();

export interface AuditNumberMarksOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** How long records are kept. */
  readonly maxAgeMs: number;
  /** The clock that ages are measured by. */
  readonly now: () => number;
}

/**
 * Marks which number the trail had reached, and when, by the steady clock.
 *
 * Records are numbered in the order of writing. Their own times are the machine's, and may be years off
 * (CONTRACT 4.7).
 */
export class AuditNumberMarks {
  readonly #options: AuditNumberMarksOptions;

  constructor(options: AuditNumberMarksOptions) {
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
