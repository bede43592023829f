import { within } from '../../site/clock/pause.js';
import type { Consumer } from '../consumer.js';
import { LOG_NAMES } from '../log/log-entry.js';

const DEADLINE_MS = 1_000;

/** Reads from the store when the oldest queued message was received. */
export class OldestQueued {
  readonly #queue: Consumer;
  #reading: Promise<number | null> | undefined;

  constructor(queue: Consumer) {
    this.#queue = queue;
  }

  /** Null for an empty queue, undefined when the store does not answer in time. */
  async receivedAtMs(): Promise<number | null | undefined> {
    // One read at a time: while the store is away, callers share the one that waits.
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    // StoreMonitor reports a failing store; here the time is just unknown.
    return within(
      this.#reading.catch(() => undefined),
      DEADLINE_MS,
    );
  }

  async #read(): Promise<number | null> {
    const cursors = LOG_NAMES.map((log) => this.#queue.cursors[log]);
    const oldest = await Promise.all(cursors.map((cursor) => cursor.oldestQueued()));
    const times = oldest.flatMap((entry) => (entry === undefined ? [] : [entry.receivedAtMs]));
    return times.length === 0 ? null : Math.min(...times);
  }
}
