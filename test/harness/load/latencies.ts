const BUCKETS_PER_DOUBLING = 16;
const BUCKETS = 32 * BUCKETS_PER_DOUBLING;

/** Latencies in buckets 4 % wide: a run has a million values, too many to keep. */
export class Latencies {
  readonly #counts = new Uint32Array(BUCKETS);
  #total = 0;
  #maxMicroseconds = 0;

  add(microseconds: number): void {
    const bucket = Math.floor(Math.log2(Math.max(microseconds, 1)) * BUCKETS_PER_DOUBLING);
    const index = Math.min(bucket, BUCKETS - 1);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#total++;
    if (microseconds > this.#maxMicroseconds) this.#maxMicroseconds = microseconds;
  }

  get maxMs(): number {
    return this.#maxMicroseconds / 1000;
  }

  /** The latency below which this fraction (0 to 1) of the values lies; 0 without values. */
  quantileMs(part: number): number {
    let left = this.#total * part;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0 && count > 0) return 2 ** ((bucket + 1) / BUCKETS_PER_DOUBLING) / 1000;
    }
    return 0;
  }
}
