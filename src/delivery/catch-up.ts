import { setImmediate as nextTurn } from 'node:timers/promises';
import { FilterTree } from '../domain/filter-tree.js';
import type { Audience } from '../domain/grants.js';
import { within } from '../site/clock/pause.js';
import type { ConsumerServices } from './consumer-options.js';
import { type HistoryReader, type LogEntry, payloadOf, type Tail } from './log/log-entry.js';

const PAGE_ENTRIES = 500;
/** A store that does not answer must not keep new alarms from the receiver. */
const ANSWER_WITHIN_MS = 5_000;

export interface CatchUpOptions {
  readonly tail: Tail;
  readonly reader: HistoryReader;
  readonly services: Pick<ConsumerServices, 'elapsedSinceMs' | 'alarmSent'>;
  readonly filters: readonly string[];
  readonly mayReceive: (audience: Audience) => boolean;
  readonly isWritable: () => boolean;
  readonly send: (entry: LogEntry, payload: Buffer) => void;
}

/**
 * Sends a receiver the alarms of the log after the place it has read up to, as fast as it takes them.
 *
 * Unlike a session's backlog, they are not counted first: that would mean reading them twice.
 */
export class CatchUp {
  readonly #options: CatchUpOptions;
  readonly #filters = new FilterTree<string>();
  #isStopped = false;
  #wake: () => void = () => undefined;

  constructor(options: CatchUpOptions) {
    this.#options = options;
    for (const filter of options.filters) this.#filters.add(filter, filter);
  }

  /**
   * Sends the alarms after this place.
   *
   * @param atEnd called at the end of the log; nothing can be added to the log until it returns
   * @throws when the store does not answer
   */
  async run(after: number, atEnd: () => void): Promise<void> {
    const { tail } = this.#options;
    let at = after;
    while (at < tail.last && !this.#isStopped) {
      const { last } = tail;
      const page = await this.#pageAfter(at);
      // Stored entries that are not announced are read later. If no entry is left, the rest was removed by age.
      const entries = page.filter(({ sequence }) => sequence <= last);
      for (const entry of entries) await this.#take(entry);
      at = entries.at(-1)?.sequence ?? last;
    }
    if (!this.#isStopped) atEnd();
  }

  /** Continues: the receiver is writable again. */
  wake(): void {
    this.#wake();
  }

  stop(): void {
    this.#isStopped = true;
    this.#wake();
  }

  async #take(entry: LogEntry): Promise<void> {
    const { isWritable, mayReceive, services, send } = this.#options;
    if (this.#filters.match(entry.topic).size === 0 || !mayReceive(entry)) return;
    while (!isWritable() && !this.#isStopped) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (!this.#isStopped) send(entry, payloadOf(entry, services));
  }

  async #pageAfter(sequence: number): Promise<readonly LogEntry[]> {
    const { tail, reader } = this.#options;
    const inMemory: LogEntry[] = [];
    while (inMemory.length < PAGE_ENTRIES) {
      const entry = tail.entryAfter(sequence + inMemory.length);
      if (entry === undefined) break;
      inMemory.push(entry);
    }
    if (inMemory.length > 0) {
      // Other work gets a turn between two pages.
      await nextTurn();
      return inMemory;
    }
    const page = await within(reader.read(sequence, PAGE_ENTRIES), ANSWER_WITHIN_MS);
    if (page === undefined) throw new Error('the store does not answer');
    return page;
  }
}
