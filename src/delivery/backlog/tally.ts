import type { LogEntry } from '../log/log-entry.js';

/** How often a mark is set: after so many entries, so many bytes, or so much time. */
export interface MarkSpacing {
  readonly entries: number;
  readonly bytes: number;
  readonly ms: number;
}

/** A selection's count at a place in the log. */
export interface Mark {
  readonly sequence: number;
  readonly count: number;
  readonly bytes: number;
  readonly receivedAtMs: number;
}

/**
 * More marks than a bound needs; beyond that jumps become coarser, over all but the newest marks.
 */
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
  /** The place of the entry counted last. */
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
    // A mark before a pause keeps earlier entries from passing for as young as later ones.
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

  /** The first mark from a sequence on with no more than this after it. */
  leaving(maxCount: number, maxBytes: number, fromSequence: number): Mark | undefined {
    return this.#marks.find(
      ({ sequence, count, bytes }) =>
        sequence >= fromSequence &&
        this.#count - count <= maxCount &&
        this.#bytes - bytes <= maxBytes,
    );
  }

  /**
   * The last mark, from a sequence on, received before this time.
   *
   * The newest entry counts though it may be unmarked.
   */
  before(timeMs: number, fromSequence: number): Mark | undefined {
    const isBefore = ({ receivedAtMs }: Mark) => receivedAtMs < timeMs;
    const newest = this.#newest;
    const isAllBefore = newest !== undefined && isBefore(newest);
    const mark = isAllBefore ? newest : this.#marks.findLast(isBefore);
    return mark !== undefined && mark.sequence >= fromSequence ? mark : undefined;
  }

  /**
   * Puts the marks of a tally of earlier entries before all others.
   *
   * The earlier entries were in the log before this tally began to count, at zero.
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

  /** Forgets the marks before a sequence, which all consumers have passed. */
  forgetBefore(sequence: number): void {
    const kept = this.#marks.findIndex((mark) => mark.sequence >= sequence);
    if (kept !== 0) this.#marks = kept < 0 ? [] : this.#marks.slice(kept);
  }

  /** Forgets the marks after the log's new end. Lost entries stay counted: their number is unknown. */
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

  /** Removes the mark that is missed least: the next one is not much further on. */
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

/** Counts a cursor's unread entries by its selection's tally. */
export class Unread {
  #tally: Tally | undefined;
  /** The cursor's offset as a position in the tally. */
  #readCount: number;
  #readBytes: number;
  #marksFrom = 0;
  /** Marks from the selections that the cursor belonged to before, as positions in the tally. */
  #earlierMarks: readonly Mark[] = [];
  /** Whether there are entries from before the start, to which no marks lead yet. */
  #isUnmarked: boolean;

  constructor(count: number, bytes: number) {
    this.#readCount = -count;
    this.#readBytes = -bytes;
    this.#isUnmarked = count > 0;
  }

  get count(): number {
    return (this.#tally?.count ?? 0) - this.#readCount;
  }

  get bytes(): number {
    return (this.#tally?.bytes ?? 0) - this.#readBytes;
  }

  /** The tally's marks before this sequence do not count what this cursor accepted. */
  get marksFrom(): number {
    return this.#marksFrom;
  }

  /**
   * Counts by this tally from now on.
   *
   * @param marksFrom the sequence from which on its marks count what this cursor accepts
   */
  follow(tally: Tally, marksFrom: number): void {
    const { count, bytes } = this;
    this.#earlierMarks = count > 0 ? this.#marksFor(tally) : [];
    this.#tally = tally;
    this.#readCount = tally.count - count;
    this.#readBytes = tally.bytes - bytes;
    this.#marksFrom = marksFrom;
  }

  /** Counts an entry as read. */
  read(bytes: number): void {
    this.#readCount++;
    this.#readBytes += bytes;
  }

  /** At start: an entry was found in the log, to which no mark leads yet. */
  found(bytes: number): void {
    this.add(1, bytes);
    this.#isUnmarked = true;
  }

  /** Entries are to be read again. */
  add(count: number, bytes: number): void {
    this.#readCount -= count;
    this.#readBytes -= bytes;
  }

  /** Sets how much is left to read. */
  setLeft(count: number, bytes: number): void {
    this.#readCount = (this.#tally?.count ?? 0) - count;
    this.#readBytes = (this.#tally?.bytes ?? 0) - bytes;
    if (count > 0) return;
    this.#earlierMarks = [];
    this.#isUnmarked = false;
  }

  /** Allows jumps over entries from before the start: their marks are set. */
  marked(): void {
    this.#isUnmarked = false;
  }

  /** The entries and bytes after a mark. */
  after({ count, bytes }: Mark): { readonly count: number; readonly bytes: number } {
    const tally = this.#tally;
    return { count: (tally?.count ?? 0) - count, bytes: (tally?.bytes ?? 0) - bytes };
  }

  /**
   * The first mark from a sequence on with no more than this after it.
   *
   * Undefined while a backlog from before the start has no marks: it would be dropped whole.
   */
  markLeaving(maxCount: number, maxBytes: number, fromSequence: number): Mark | undefined {
    const tally = this.#tally;
    if (tally === undefined || this.#isUnmarked) return undefined;
    const isWithin = (mark: Mark): boolean => {
      const { count, bytes } = this.after(mark);
      return mark.sequence >= fromSequence && count <= maxCount && bytes <= maxBytes;
    };
    return (
      this.#earlierMarks.find(isWithin) ??
      tally.leaving(maxCount, maxBytes, this.#from(fromSequence))
    );
  }

  /** The last mark, from a sequence on, of an entry received before this time. */
  markBefore(timeMs: number, fromSequence: number): Mark | undefined {
    const mark = this.#tally?.before(timeMs, this.#from(fromSequence));
    const isEarlier = ({ sequence, receivedAtMs }: Mark) =>
      receivedAtMs < timeMs && sequence >= fromSequence;
    return mark ?? this.#earlierMarks.findLast(isEarlier);
  }

  /**
   * The log ends at this sequence now. The tally still counts what was lost, and this cursor the part
   * of that which it had accepted and not read: where the two are the same, the marks stay right.
   *
   * @param aheadCount how many lost entries the cursor had read before their turn
   * @param hasCompleted whether the cursor, going back, had passed lost entries that were done with
   */
  cutAt(sequence: number, aheadCount: number, hasCompleted: boolean): void {
    if (aheadCount === 0 && !hasCompleted && this.#marksFrom <= sequence) {
      this.#earlierMarks = this.#earlierMarks.filter((mark) => mark.sequence <= sequence);
      return;
    }
    const tally = this.#tally;
    const marks = tally && aheadCount > 0 ? this.#marksFor(tally) : this.#earlierMarks;
    const kept = marks.filter((mark) => mark.sequence < sequence);
    this.#earlierMarks = kept.map((mark) => ({ ...mark, count: mark.count + aheadCount }));
    this.#marksFrom = sequence + 1;
  }

  #from(sequence: number): number {
    return Math.max(sequence, this.#marksFrom);
  }

  /** The marks of the present tally as positions in another one. */
  #marksFor(tally: Tally): readonly Mark[] {
    const before = this.#tally;
    if (before === undefined) return [];
    return [...this.#earlierMarks, ...before.marksFrom(this.#marksFrom)].map((mark) => {
      const { count, bytes } = this.after(mark);
      return { ...mark, count: tally.count - count, bytes: tally.bytes - bytes };
    });
  }
}
