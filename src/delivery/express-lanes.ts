import { parseForwardedTopic } from '../domain/topics.js';
import type { Cursor } from './cursors/cursor.js';
import type { LogEntry, LogReader, Tail } from './log/log-entry.js';

const PAGE_ENTRIES = 500;
const LOADED_AT_ONCE = 100;

export interface ExpressLanesOptions {
  readonly cursor: Cursor;
  readonly reader: LogReader;
  readonly tail: Tail;
}

/**
 * Lets new alarms pass other devices' backlog during a replay.
 *
 * The queued alarms of the same device go ahead of the new one, so that one device's alarms stay in
 * order (CONTRACT 4.3).
 */
export class ExpressLanes {
  readonly #options: ExpressLanesOptions;
  /** Queued sequences by device, in order, including those that the cursor has passed since. */
  readonly #waiting = new Map<string, number[]>();
  /** Devices with a new alarm. */
  readonly #urgent = new Set<string>();
  readonly #loaded = new Map<number, LogEntry>();
  /** New alarms while the backlog has not been scanned; undefined afterwards. */
  #early: LogEntry[] | undefined = [];

  /** The newest entry when the replay began: entries up to here are the backlog. */
  readonly #backlogUpTo: number;

  constructor(options: ExpressLanesOptions) {
    this.#options = options;
    this.#backlogUpTo = options.tail.last;
  }

  /** Whether the entry is of the backlog, and not a new alarm. */
  hasWaited({ sequence }: LogEntry): boolean {
    return sequence <= this.#backlogUpTo;
  }

  /** Notes a new alarm that the cursor accepted. */
  accepted(entry: LogEntry): void {
    if (this.#early === undefined) this.#urgent.add(this.#append(entry));
    else this.#early.push(entry);
  }

  /**
   * Takes the next alarm that goes ahead.
   *
   * @returns `not-loaded` when `load` must come first, undefined when no alarm goes ahead
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

  /** Scans the backlog the first time; then loads the next alarms. */
  async load(): Promise<void> {
    if (this.#early !== undefined) {
      await this.#scan(this.#early);
      return;
    }
    const { cursor, reader } = this.#options;
    const [lane] = this.#urgent;
    if (lane === undefined) return;
    const wanted = this.#waitingOf(lane).slice(0, LOADED_AT_ONCE);
    for (const entry of await reader.pick(cursor.log, wanted)) {
      this.#loaded.set(entry.sequence, entry);
    }
    // Trimmed entries are no longer queued.
    const gone = new Set(wanted.filter((sequence) => !this.#loaded.has(sequence)));
    const waiting = this.#waitingOf(lane).filter((sequence) => !gone.has(sequence));
    this.#waiting.set(lane, waiting);
  }

  async #scan(early: readonly LogEntry[]): Promise<void> {
    const { cursor, reader, tail } = this.#options;
    const { last } = tail;
    this.#waiting.clear();
    for (let after = cursor.position.offset; after < last; ) {
      const page = await reader.read(cursor.log, after, PAGE_ENTRIES);
      for (const entry of page) {
        if (entry.sequence <= last && cursor.isPending(entry)) this.#append(entry);
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
    const { offset } = this.#options.cursor.position;
    const passed = waiting.findIndex((sequence) => sequence > offset);
    waiting.splice(0, passed < 0 ? waiting.length : passed);
    return waiting;
  }
}

function laneOf({ topic }: LogEntry): string {
  return parseForwardedTopic(topic)?.deviceId ?? topic;
}
