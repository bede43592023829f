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

/** More than a bound needs; beyond it jumps become coarser, over all but the newest of these. */
const MAX_MARKS = 512;
const NEWEST_MARKS = 192;

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
  /** Where the entry counted last stands. */
  #newest: Mark | undefined;

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
    this.#count++;
    this.#bytes += entry.payload.length;
    const { entries, bytes, ms } = this.#spacing;
    const last = this.#last;
    const hasPassed = last !== undefined && entry.receivedAtMs - last.receivedAtMs >= ms;
    const isDue =
      last === undefined ||
      this.#count - last.count >= entries ||
      this.#bytes - last.bytes >= bytes ||
      hasPassed;
    // Before a pause, so that what came before is not as young as what came after.
    if (hasPassed && this.#newest !== undefined && this.#newest !== last) this.#mark(this.#newest);
    const { sequence, receivedAtMs } = entry;
    this.#newest = { sequence, count: this.#count, bytes: this.#bytes, receivedAtMs };
    if (isDue) this.#mark(this.#newest);
    return isDue;
  }

  /** The marks from a sequence on. */
  marksFrom(fromSequence: number): Mark[] {
    return this.#marks.filter(({ sequence }) => sequence >= fromSequence);
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

  /** The last mark, from a sequence on, of an entry received before this time; the newest also unmarked. */
  before(timeMs: number, fromSequence: number): Mark | undefined {
    const isBefore = ({ receivedAtMs }: Mark) => receivedAtMs < timeMs;
    const newest = this.#newest;
    const isAllBefore = newest !== undefined && isBefore(newest);
    const mark = isAllBefore ? newest : this.#marks.findLast(isBefore);
    return mark !== undefined && mark.sequence >= fromSequence ? mark : undefined;
  }

  /**
   * Puts the marks of another tally before all others: of the entries that were in the log before this
   * one began to count, at zero.
   */
  prepend(before: Tally): void {
    const end = before.#newest === before.#last ? undefined : before.#newest;
    const marks = end === undefined ? before.#marks : [...before.#marks, end];
    const earlier = marks.map(({ count, bytes, ...at }) => {
      return { ...at, count: count - before.#count, bytes: bytes - before.#bytes };
    });
    this.#marks = [...earlier, ...this.#marks];
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
    this.#newest = this.#last;
  }

  #mark(mark: Mark): void {
    this.#last = mark;
    this.#marks.push(mark);
    this.#thin();
  }

  /** Takes out the mark that is missed least: the next one is not much further on. */
  #thin(): void {
    while (this.#marks.length > MAX_MARKS) {
      const marks = this.#marks;
      let [least, gap] = [0, Number.POSITIVE_INFINITY];
      for (let index = 1; index < marks.length - NEWEST_MARKS; index++) {
        const between = (marks[index + 1]?.count ?? 0) - (marks[index - 1]?.count ?? 0);
        if (between < gap) [least, gap] = [index, between];
      }
      marks.splice(least, 1);
    }
  }
}
