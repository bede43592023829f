import type { Mark, Tally } from './tally.js';

/** Counts what a cursor has accepted and not read: what its selection's tally counts behind it. */
export class Unread {
  #tally: Tally | undefined;
  /** The cursor's offset as a position in the tally. */
  #readCount: number;
  #readBytes: number;
  /** The tally's marks before this sequence do not count what this cursor accepted. */
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

  /** An entry was read. */
  read(bytes: number): void {
    this.#readCount++;
    this.#readBytes += bytes;
  }

  /** Entries are to be read again, or have been found in the log. */
  add(count: number, bytes: number): void {
    this.#readCount -= count;
    this.#readBytes -= bytes;
  }

  /** Only so much is left to read. */
  leave(count: number, bytes: number): void {
    this.#readCount = (this.#tally?.count ?? 0) - count;
    this.#readBytes = (this.#tally?.bytes ?? 0) - bytes;
    if (count > 0) return;
    this.#earlierMarks = [];
    this.#isUnmarked = false;
  }

  /** The marks that lead to what was there at the start are set. */
  marked(): void {
    this.#isUnmarked = false;
  }

  /** How many entries and bytes lie behind a mark. */
  behind({ count, bytes }: Mark): { readonly count: number; readonly bytes: number } {
    const tally = this.#tally;
    return { count: (tally?.count ?? 0) - count, bytes: (tally?.bytes ?? 0) - bytes };
  }

  /**
   * The first mark from a sequence on behind which no more than this lies. Undefined as long as there
   * are no marks in a backlog of before the start: it would be dropped whole.
   */
  markLeaving(maxCount: number, maxBytes: number, fromSequence: number): Mark | undefined {
    const tally = this.#tally;
    if (tally === undefined || this.#isUnmarked) return undefined;
    const isWithin = (mark: Mark): boolean => {
      const { count, bytes } = this.behind(mark);
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

  /** The log ends at this sequence now. */
  cutAt(sequence: number): void {
    this.#marksFrom = Math.min(this.#marksFrom, sequence);
    this.#earlierMarks = this.#earlierMarks.filter((mark) => mark.sequence <= sequence);
  }

  #from(sequence: number): number {
    return Math.max(sequence, this.#marksFrom);
  }

  /** The marks of the present tally as positions in another one. */
  #marksFor(tally: Tally): readonly Mark[] {
    const before = this.#tally;
    if (before === undefined) return [];
    return [...this.#earlierMarks, ...before.marksFrom(this.#marksFrom)].map((mark) => {
      const { count, bytes } = this.behind(mark);
      return { ...mark, count: tally.count - count, bytes: tally.bytes - bytes };
    });
  }
}
