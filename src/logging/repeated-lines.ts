const INTERVAL_MS = 60_000;
const SWEEP_INTERVAL_MS = 1_000;
/** Per message: a client with ever more addresses must fill neither the memory nor the log. */
const MAX_SUBJECTS = 1_000;
/** The subject of all lines beyond that. */
const OTHERS = '';

/** A line that may repeat. */
export interface RepeatableLine {
  readonly message: string;
  /** Who or what the line is about. */
  readonly subject: string;
  /** Writes the line with the number of lines held back. */
  readonly write: (repeated: number) => void;
}

interface Interval {
  readonly endsAtMs: number;
  repeated: number;
  last: RepeatableLine | undefined;
}

/**
 * Holds repeated log lines back, so that each comes once a minute for its subject.
 *
 * The first is written immediately. Lines that follow within a minute are counted, and the last of them is
 * written at its end, with their number.
 */
export class RepeatedLines {
  readonly #now: () => number;
  /** By message and subject; those of one message are in the order of their ends. */
  readonly #intervals = new Map<string, Map<string, Interval>>();
  #timer: NodeJS.Timeout | undefined;

  /** @param now a clock that does not jump */
  constructor(now: () => number) {
    this.#now = now;
  }

  start(): void {
    this.#timer = setInterval(() => this.sweep(), SWEEP_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Writes the lines that are held back. */
  stop(): void {
    clearInterval(this.#timer);
    for (const intervals of this.#intervals.values()) {
      for (const { last, repeated } of intervals.values()) last?.write(repeated);
    }
    this.#intervals.clear();
  }

  /** Whether the line is held back; if not, the caller writes it now. */
  holdsBack(line: RepeatableLine): boolean {
    const intervals = this.#intervals.get(line.message) ?? new Map<string, Interval>();
    const isKnown = intervals.has(line.subject) || intervals.size < MAX_SUBJECTS;
    const subject = isKnown ? line.subject : OTHERS;
    const interval = intervals.get(subject);
    if (interval !== undefined) {
      interval.repeated++;
      interval.last = line;
      return true;
    }
    this.#begin(intervals, subject);
    this.#intervals.set(line.message, intervals);
    return false;
  }

  /** Writes the last line of every minute that is over, and starts another minute with it. */
  sweep(): void {
    const nowMs = this.#now();
    for (const [message, intervals] of this.#intervals) {
      for (const [subject, { endsAtMs, repeated, last }] of intervals) {
        if (endsAtMs > nowMs) break;
        intervals.delete(subject);
        if (last === undefined) continue;
        last.write(repeated);
        this.#begin(intervals, subject);
      }
      if (intervals.size === 0) this.#intervals.delete(message);
    }
  }

  #begin(intervals: Map<string, Interval>, subject: string): void {
    intervals.set(subject, { endsAtMs: this.#now() + INTERVAL_MS, repeated: 0, last: undefined });
  }
}
