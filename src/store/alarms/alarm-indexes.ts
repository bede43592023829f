import type { AlarmOrder, AlarmPosition } from '../../site/alarms/alarm-history.js';
import type { Store } from '../store.js';

/** A reader fetches at least this many. */
const MIN_ROWS = 8;

/** Where a listing starts and ends. */
export interface IndexBounds {
  readonly order: AlarmOrder;
  /** Exclusive. */
  readonly afterMs: number | undefined;
  readonly beforeMs: number | undefined;
  /** The last alarm of the previous page. */
  readonly position: AlarmPosition | undefined;
}

/** Reads several indexes as one, ordered by detection time and sequence (append-alarms.lua). */
export class AlarmIndexes {
  readonly #store: Store;
  readonly #order: AlarmOrder;
  readonly #readers: readonly IndexReader[];
  #ready: AlarmPosition[] = [];

  constructor(store: Store, keys: readonly string[], bounds: IndexBounds) {
    this.#store = store;
    this.#order = bounds.order;
    this.#readers = keys.map((key) => new IndexReader(key, bounds));
  }

  /** Takes the next alarms; fewer than requested only at the end. */
  async take(count: number): Promise<AlarmPosition[]> {
    while (this.#ready.length < count && this.#readers.some((reader) => !reader.isDone)) {
      const rows = Math.max(MIN_ROWS, Math.ceil((2 * count) / this.#readers.length));
      const empty = this.#readers.filter((reader) => reader.needsMore);
      await Promise.all(empty.map((reader) => reader.fetch(this.#store, rows)));
      this.#merge();
    }
    return this.#ready.splice(0, count);
  }

  /** Takes the alarms that no reader can still precede: all up to where the slowest reader has got. */
  #merge(): void {
    const ends = this.#readers.flatMap((reader) => reader.end ?? []);
    const [first, ...others] = ends;
    const upTo = others.reduce<AlarmPosition | undefined>(
      (nearest, end) => (nearest !== undefined && this.#compare(end, nearest) < 0 ? end : nearest),
      first,
    );
    const isReady = (row: AlarmPosition) => upTo === undefined || this.#compare(row, upTo) <= 0;
    const rows = this.#readers.flatMap((reader) => reader.takeWhile(isReady));
    this.#ready = [...this.#ready, ...rows.sort((one, other) => this.#compare(one, other))];
  }

  #compare(one: AlarmPosition, other: AlarmPosition): number {
    return compare(one, other, this.#order);
  }
}

function compare(one: AlarmPosition, other: AlarmPosition, order: AlarmOrder): number {
  const ascending = one.detectedAtMs - other.detectedAtMs || one.sequence - other.sequence;
  return order === 'asc' ? ascending : -ascending;
}

/** Reads one index page by page. */
class IndexReader {
  readonly #key: string;
  readonly #bounds: IndexBounds;
  #rows: AlarmPosition[] = [];
  /** All other alarms follow this one. */
  #last: AlarmPosition | undefined;
  /** Where the next read begins: the detection time, and how many of the alarms with it (maybe thousands) were read. */
  #fromMs: number | undefined;
  #tied = 0;
  #isAtEnd = false;

  constructor(key: string, bounds: IndexBounds) {
    this.#key = key;
    this.#bounds = bounds;
    this.#last = bounds.position;
    this.#fromMs = bounds.position?.detectedAtMs;
  }

  /** Whether nothing is left to take. */
  get isDone(): boolean {
    return this.#isAtEnd && this.#rows.length === 0;
  }

  get needsMore(): boolean {
    return !this.#isAtEnd && this.#rows.length === 0;
  }

  /** The last alarm read; undefined when no others follow. */
  get end(): AlarmPosition | undefined {
    return this.#isAtEnd ? undefined : this.#rows.at(-1);
  }

  takeWhile(isTaken: (row: AlarmPosition) => boolean): AlarmPosition[] {
    const kept = this.#rows.findIndex((row) => !isTaken(row));
    return this.#rows.splice(0, kept === -1 ? this.#rows.length : kept);
  }

  /** Reads until it has something or reaches its end. */
  async fetch(store: Store, count: number): Promise<void> {
    while (this.needsMore) {
      const found = await this.#read(store, count);
      const last = this.#last;
      this.#isAtEnd = found.length < count;
      this.#rows = found.filter(
        (row) => last === undefined || compare(row, last, this.#bounds.order) > 0,
      );
      this.#last = this.#rows.at(-1) ?? last;
      this.#goOnAfter(found);
    }
  }

  async #read(store: Store, count: number): Promise<AlarmPosition[]> {
    const { order, afterMs, beforeMs } = this.#bounds;
    const from = this.#fromMs;
    const ascending = order === 'asc';
    const lower =
      (ascending ? from : undefined) ?? (afterMs === undefined ? '-inf' : `(${afterMs}`);
    const upper =
      (ascending ? undefined : from) ?? (beforeMs === undefined ? '+inf' : `(${beforeMs}`);
    const reply = await store.read((redis) =>
      ascending
        ? redis.zrangebyscore(this.#key, lower, upper, 'WITHSCORES', 'LIMIT', this.#tied, count)
        : redis.zrevrangebyscore(this.#key, upper, lower, 'WITHSCORES', 'LIMIT', this.#tied, count),
    );
    return reply.flatMap((member, at) =>
      at % 2 === 0 ? [{ detectedAtMs: Number(reply[at + 1]), sequence: Number(member) }] : [],
    );
  }

  #goOnAfter(found: readonly AlarmPosition[]): void {
    const lastMs = found.at(-1)?.detectedAtMs;
    if (lastMs === undefined) return;
    const tied = found.filter(({ detectedAtMs }) => detectedAtMs === lastMs).length;
    this.#tied = lastMs === this.#fromMs ? this.#tied + tied : tied;
    this.#fromMs = lastMs;
  }
}
