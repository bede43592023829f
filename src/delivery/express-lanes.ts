import { parseForwardedTopic } from '../domain/topics.js';
import type { Cursor } from './cursor.js';
import type { LogEntry, LogReader, Tail } from './log-entry.js';

const PAGE_ENTRIES = 500;
const LOADED_AT_ONCE = 100;

export interface ExpressLanesOptions {
  readonly cursor: Cursor;
  readonly reader: LogReader;
  readonly tail: Tail;
}

/**
 * While a long backlog is replayed, a new alarm does not wait for its end: it goes past what waits of
 * other devices, behind what waits of its own, which goes with it. So it arrives at once, and one
 * device's alarms stay in order all the same (CONTRACT 4.3).
 */
export class ExpressLanes {
  readonly #options: ExpressLanesOptions;
  /** What waits of each device, in order; what the cursor has passed meanwhile is in it still. */
  readonly #waiting = new Map<string, number[]>();
  /** Devices with a new alarm. */
  readonly #urgent = new Set<string>();
  readonly #loaded = new Map<number, LogEntry>();
  /** New while what had waited has not been looked through; undefined after that. */
  #early: LogEntry[] | undefined = [];

  /** What was there when it began, and has waited. */
  readonly #backlogUpTo: number;

  constructor(options: ExpressLanesOptions) {
    this.#options = options;
    this.#backlogUpTo = options.tail.last;
  }

  /** Whether it is of the backlog, and not a new alarm itself. */
  hasWaited({ sequence }: LogEntry): boolean {
    return sequence <= this.#backlogUpTo;
  }

  /** The cursor has accepted a new alarm. */
  accepted(entry: LogEntry): void {
    if (this.#early === undefined) this.#urgent.add(this.#append(entry));
    else this.#early.push(entry);
  }

  /**
   * The next alarm to go ahead, which then counts as taken; or that something must be loaded first
   * (`load`); undefined when none is to go ahead.
   */
  next(): LogEntry | 'not-loaded' | undefined {
    const { tail } = this.#options;
    if (this.#early !== undefined) return 'not-loaded';
    for (const lane of this.#urgent) {
      const waiting = this.#waitingOf(lane);
      const [sequence] = waiting;
      if (sequence === undefined) {
        this.#urgent.delete(lane);
        continue;
      }
      const entry = tail.entryAfter(sequence - 1) ?? this.#loaded.get(sequence);
      if (entry === undefined) return 'not-loaded';
      waiting.shift();
      this.#loaded.delete(sequence);
      return entry;
    }
    return undefined;
  }

  /** Looks through what waits, the first time; then loads what is to go ahead next. */
  async load(): Promise<void> {
    if (this.#early !== undefined) {
      await this.#lookThrough(this.#early);
      return;
    }
    const { cursor, reader } = this.#options;
    const [lane] = this.#urgent;
    if (lane === undefined) return;
    const wanted = this.#waitingOf(lane).slice(0, LOADED_AT_ONCE);
    for (const entry of await reader.pick(cursor.log, wanted)) {
      this.#loaded.set(entry.sequence, entry);
    }
    // What has been trimmed meanwhile waits no more.
    const gone = new Set(wanted.filter((sequence) => !this.#loaded.has(sequence)));
    const waiting = this.#waitingOf(lane).filter((sequence) => !gone.has(sequence));
    this.#waiting.set(lane, waiting);
  }

  async #lookThrough(early: readonly LogEntry[]): Promise<void> {
    const { cursor, reader, tail } = this.#options;
    const { last } = tail;
    this.#waiting.clear();
    for (let after = cursor.offset; after < last; ) {
      const page = await reader.read(cursor.log, after, PAGE_ENTRIES);
      for (const entry of page) {
        if (entry.sequence <= last && cursor.isOwed(entry)) this.#append(entry);
      }
      after = page.at(-1)?.sequence ?? last;
    }
    this.#early = undefined;
    for (const entry of early) {
      if (entry.sequence > last) this.accepted(entry);
      else this.#urgent.add(laneOf(entry));
    }
  }

  #append(entry: LogEntry): string {
    const lane = laneOf(entry);
    const waiting = this.#waiting.get(lane);
    if (waiting === undefined) this.#waiting.set(lane, [entry.sequence]);
    else waiting.push(entry.sequence);
    return lane;
  }

  #waitingOf(lane: string): number[] {
    const waiting = this.#waiting.get(lane) ?? [];
    const { offset } = this.#options.cursor;
    const passed = waiting.findIndex((sequence) => sequence > offset);
    waiting.splice(0, passed < 0 ? waiting.length : passed);
    return waiting;
  }
}

function laneOf({ topic }: LogEntry): string {
  return parseForwardedTopic(topic)?.deviceId ?? topic;
}
