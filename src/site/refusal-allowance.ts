/** Denials that a principal may have at once: as many as a SUBSCRIBE has filters at most. */
const MAX_AT_ONCE = 1_000;
const REGAINED_PER_SECOND = 10;
/** Beyond this number the principal denied longest ago is forgotten: it has regained most. */
const MAX_PRINCIPALS = 10_000;
const SAID_AGAIN_AFTER_MS = 60_000;

/** The denials that one principal has left. */
interface Bucket {
  left: number;
  atMs: number;
  saidAtMs: number | undefined;
}

/** The answer for a principal with too few denials left. */
export interface Excess {
  /** Time until he has as many as he asked for. */
  readonly waitMs: number;
  /** Whether to log it: not logged of this principal for a minute. */
  readonly isNews: boolean;
}

/**
 * Limits how often each principal may be denied: every denial is a record in the store, and a store
 * filled up with them takes no alarms. A thousand at once, then ten a second.
 */
export class RefusalAllowance {
  readonly #steadyNow: () => number;
  /** By principal, in the order in which they were refused last. */
  readonly #buckets = new Map<string, Bucket>();

  /** @param steadyNow a clock that does not jump */
  constructor(steadyNow: () => number) {
    this.#steadyNow = steadyNow;
  }

  /** Number of principals that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /**
   * Takes this number of a principal's denials, or none when fewer are left.
   *
   * @param count a thousand at most
   * @returns undefined when they are taken
   */
  take(principal: string, count: number): Excess | undefined {
    const nowMs = this.#steadyNow();
    const bucket = this.#bucketOf(principal, nowMs);
    this.#forget(nowMs);
    if (bucket.left >= count) {
      bucket.left -= count;
      return undefined;
    }
    const { saidAtMs } = bucket;
    const isNews = saidAtMs === undefined || nowMs - saidAtMs >= SAID_AGAIN_AFTER_MS;
    if (isNews) bucket.saidAtMs = nowMs;
    return { waitMs: ((count - bucket.left) * 1000) / REGAINED_PER_SECOND, isNews };
  }

  /** The principal's bucket as of now, moved to the end of the order. */
  #bucketOf(principal: string, nowMs: number): Bucket {
    const known = this.#buckets.get(principal);
    const bucket = known ?? { left: MAX_AT_ONCE, atMs: nowMs, saidAtMs: undefined };
    bucket.left = leftAt(bucket, nowMs);
    bucket.atMs = nowMs;
    this.#buckets.delete(principal);
    this.#buckets.set(principal, bucket);
    return bucket;
  }

  /** Forgets principals that have regained all; beyond the bound, the one denied longest ago. */
  #forget(nowMs: number): void {
    for (const [principal, bucket] of this.#buckets) {
      const isFull = bucket.atMs < nowMs && leftAt(bucket, nowMs) === MAX_AT_ONCE;
      if (!isFull && this.#buckets.size <= MAX_PRINCIPALS) return;
      this.#buckets.delete(principal);
    }
  }
}

function leftAt({ left, atMs }: Bucket, nowMs: number): number {
  return Math.min(MAX_AT_ONCE, left + ((nowMs - atMs) / 1000) * REGAINED_PER_SECOND);
}
