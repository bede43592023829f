import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Keys } from '../keys.js';

/** A record stays longer than its time by such a part of it at most. */
const MARKS_PER_AGE = 365;

const markSchema = z.tuple([z.coerce.number(), z.coerce.number()]).optional();

export interface AuditNumberMarksOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** How long records are kept. */
  readonly maxAgeMs: number;
  /** By which ages are measured. */
  readonly now: () => number;
}

/**
 * Marks how far the numbers of the trail had come, and when by the steady clock.
 *
 * Records are in the order of their numbers, whatever the machine's clock said when they were written:
 * their own times may be years off (CONTRACT 4.7).
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
    // Only now: the store may have answered late, and no record was written after this.
    const nowMs = now();
    const reply = await redis.zrevrange(keys.auditMarks, 0, 0, 'WITHSCORES');
    const [lastNumber, lastAtMs] = readMark(reply) ?? [0, Number.NEGATIVE_INFINITY];
    if (number <= lastNumber || nowMs - lastAtMs < maxAgeMs / MARKS_PER_AGE) return;
    await redis.zadd(keys.auditMarks, 'NX', nowMs, number);
  }

  /** The number up to which all records are too old; 0 for none. */
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
