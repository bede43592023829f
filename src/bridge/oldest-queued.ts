import type { Consumer } from '../delivery/consumer.js';
import { LOG_NAMES } from '../delivery/log-entry.js';
import { pause } from '../site/pause.js';

const DEADLINE_MS = 1_000;

/** When the oldest message that waits was received: of what is queued the store alone knows it. */
export class OldestQueued {
  readonly #queue: Consumer;
  #reading: Promise<number | null> | undefined;

  constructor(queue: Consumer) {
    this.#queue = queue;
  }

  /** Null when nothing waits, undefined when the store does not say in time. */
  async receivedAtMs(): Promise<number | null | undefined> {
    // While the store is away a read waits for it, and the next ones wait for that.
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    const deadline = new AbortController();
    const { signal } = deadline;
    const late = pause(DEADLINE_MS, signal).then(() => undefined);
    // Whatever the store's error is, it is a fault of its own, and this is not known.
    const known = this.#reading.catch(() => undefined);
    return Promise.race([known, late]).finally(() => deadline.abort());
  }

  async #read(): Promise<number | null> {
    const cursors = LOG_NAMES.map((log) => this.#queue.cursors[log]);
    const oldest = await Promise.all(cursors.map((cursor) => cursor.oldestQueued()));
    const times = oldest.flatMap((entry) => (entry === undefined ? [] : [entry.receivedAtMs]));
    return times.length === 0 ? null : Math.min(...times);
  }
}
