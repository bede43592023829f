import { parseForwardedTopic } from '../../domain/topics.js';
import type { ConsumerServices } from '../consumer-options.js';
import { type LogEntry, sequenceOf } from '../log/log-entry.js';

const PAGE_ENTRIES = 500;
const LOADED_AT_ONCE = 100;

export interface ExpressLanesOptions {
  /** The queue of alarms: its destination, and the last item taken in its turn. */
  readonly alarms: { readonly key: string; readonly turn: number };
  readonly services: Pick<ConsumerServices, 'queues' | 'tail'>;
  /** The newest alarm when the replay began. Alarms up to this one are the backlog. */
  readonly backlogUpTo: number;
}

/**
 * Lets new alarms pass other devices' backlog during a replay.
 *
 * The queued alarms of its device go before the new one, which keeps each device's alarms in order
 * (docs/reference/contract.md, 4.3).
 */
export class ExpressLanes {
  readonly #options: ExpressLanesOptions;
  /** Queued items by device, in order, including those whose turn has since come. */
  readonly #waiting = new Map<string, number[]>();
  /** Devices with a new alarm. */
  readonly #urgent = new Set<string>();
  readonly #loaded = new Map<number, LogEntry>();
  /** New alarms until the backlog has been scanned; undefined afterwards. */
  #early: LogEntry[] | undefined = [];

  constructor(options: ExpressLanesOptions) {
    this.#options = options;
  }

  /** Whether the alarm belongs to the backlog, and is not new. */
  hasWaited({ sequence }: LogEntry): boolean {
    return sequence <= this.#options.backlogUpTo;
  }

  /** Notes a new alarm. */
  accepted(alarm: LogEntry): void {
    if (this.#early === undefined) this.#urgent.add(this.#append(alarm));
    else this.#early.push(alarm);
  }

  /**
   * Takes the next alarm that goes ahead.
   *
   * @returns `not-loaded` when `load` must come first, undefined when no alarm goes ahead
   */
  next(): LogEntry | 'not-loaded' | undefined {
    if (this.#early !== undefined) return 'not-loaded';
    for (const lane of this.#urgent) {
      const waiting = this.#waitingOf(lane);
      const [item] = waiting;
      if (item === undefined) {
        this.#urgent.delete(lane);
        continue;
      }
      const entry = this.#inMemory(item);
      if (entry === undefined) return 'not-loaded';
      waiting.shift();
      this.#loaded.delete(item);
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
    const [lane] = this.#urgent;
    if (lane === undefined) return;
    const wanted = this.#waitingOf(lane).slice(0, LOADED_AT_ONCE);
    for (const entry of await this.#options.services.queues.pickAlarms(wanted)) {
      this.#loaded.set(entry.item, entry);
    }
    // These count as lost when their turn comes. An alarm in memory is not lost: it is recorded again.
    const gone = new Set(wanted.filter((item) => this.#inMemory(item) === undefined));
    const waiting = this.#waitingOf(lane).filter((item) => !gone.has(item));
    this.#waiting.set(lane, waiting);
  }

  async #scan(early: readonly LogEntry[]): Promise<void> {
    const { alarms, services } = this.#options;
    const { queues, tail } = services;
    this.#waiting.clear();
    let last = alarms.turn;
    for (let isEnd = false; !isEnd; ) {
      const page = await queues.page('alarms', alarms.key, last, PAGE_ENTRIES, tail);
      // A stored entry that is not announced may still be lost.
      const announced = page.entries.filter(({ sequence }) => sequence <= tail.last);
      for (const entry of announced) {
        const lane = this.#append(entry);
        // It came before the lanes were reopened.
        if (!this.hasWaited(entry)) this.#urgent.add(lane);
      }
      last = Math.max(last, announced.at(-1)?.item ?? 0, ...page.missing);
      isEnd = page.isEnd || announced.length < page.entries.length;
    }
    this.#early = undefined;
    for (const alarm of early) {
      if (alarm.item > last) this.accepted(alarm);
      else this.#urgent.add(laneOf(alarm));
    }
  }

  #append(alarm: LogEntry): string {
    const lane = laneOf(alarm);
    const waiting = this.#waiting.get(lane);
    if (waiting === undefined) this.#waiting.set(lane, [alarm.item]);
    else waiting.push(alarm.item);
    return lane;
  }

  #inMemory(item: number): LogEntry | undefined {
    const newest = this.#options.services.tail.entryAfter(sequenceOf(item) - 1);
    return newest?.item === item ? newest : this.#loaded.get(item);
  }

  #waitingOf(lane: string): number[] {
    const waiting = this.#waiting.get(lane) ?? [];
    const { turn } = this.#options.alarms;
    const toCome = waiting.findIndex((item) => item > turn);
    waiting.splice(0, toCome < 0 ? waiting.length : toCome);
    return waiting;
  }
}

function laneOf({ topic }: LogEntry): string {
  return parseForwardedTopic(topic)?.deviceId ?? topic;
}
