import type { LogEntry } from './log-entry.js';

/** How often a mark is set: after so many entries, so many bytes, or so much time. */
export interface MarkSpacing {
  readonly entries: number;
  readonly bytes: number;
  readonly ms: number;
}

/** How many entries a selection has accepted up to a place in the log. */
export interface Mark {
  readonly sequence: number;
  readonly count: number;
  readonly bytes: number;
  readonly receivedAtMs: number;
}

/** More than a bound needs; beyond it every second mark goes, and jumps become coarser. */
const MAX_MARKS = 512;

/**
 * Counts the entries of one log that a selection accepts, with marks on the way.
 *
 * A consumer that must give up part of its backlog jumps to a mark: the cost does not depend on how
 * much is dropped, and the count stays exact.
 */
export class Tally {
  readonly #spacing: MarkSpacing;
  #marks: Mark[] = [];
  #count = 0;
  #bytes = 0;
  #last: Mark | undefined;
  /** At the newest entry, marked or not. */
  #end: Mark | undefined;

  constructor(spacing: MarkSpacing) {
    this.#spacing = spacing;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts an entry at the end of the log. Returns whether a mark was set there. */
  add(entry: LogEntry): boolean {
    const { sequence, receivedAtMs } = entry;
    this.#count++;
    this.#bytes += entry.payload.length;
    const end = { sequence, count: this.#count, bytes: this.#bytes, receivedAtMs };
    this.#end = end;
    const { entries, bytes, ms } = this.#spacing;
    const last = this.#last;
    const isDue =
      last === undefined ||
      this.#count - last.count >= entries ||
      this.#bytes - last.bytes >= bytes ||
      receivedAtMs - last.receivedAtMs >= ms;
    if (isDue) this.#mark(end);
    return isDue;
  }

  /** The first mark from a sequence on behind which no more than this lies. */
  leaving(maxCount: number, maxBytes: number, fromSequence: number): Mark | undefined {
    return this.#marks.find(
      ({ sequence, count, bytes }) =>
        sequence >= fromSequence &&
        this.#count - count <= maxCount &&
        this.#bytes - bytes <= maxBytes,
    );
  }

  /**
   * The last mark, from a sequence on, of an entry received before this time.
   *
   * The newest entry is as good as marked: a backlog that nothing follows expires to its end.
   */
  before(timeMs: number, fromSequence: number): Mark | undefined {
    const isAllBefore = this.#end !== undefined && this.#end.receivedAtMs < timeMs;
    const mark = isAllBefore
      ? this.#end
      : this.#marks.findLast(({ receivedAtMs }) => receivedAtMs < timeMs);
    return mark !== undefined && mark.sequence >= fromSequence ? mark : undefined;
  }

  /** Puts marks before all others: of entries that were in the log before the counting began. */
  prepend(marks: readonly Mark[]): void {
    this.#marks = [...marks, ...this.#marks];
    this.#last ??= this.#marks.at(-1);
    this.#thin();
  }

  /** Forgets the marks before a sequence: no consumer is behind it. */
  forgetBefore(sequence: number): void {
    const kept = this.#marks.findIndex((mark) => mark.sequence >= sequence);
    if (kept !== 0) this.#marks = kept < 0 ? [] : this.#marks.slice(kept);
  }

  /** The log ends here now. */
  cutAt(sequence: number): void {
    this.#marks = this.#marks.filter((mark) => mark.sequence <= sequence);
    this.#last = this.#marks.at(-1);
    this.#end = this.#last;
  }

  #mark(mark: Mark): void {
    this.#last = mark;
    this.#marks.push(mark);
    this.#thin();
  }

  #thin(): void {
    if (this.#marks.length <= MAX_MARKS) return;
    this.#marks = this.#marks.filter((mark, index) => index % 2 === 0 || mark === this.#last);
  }
}
