import { within } from '../../site/clock/pause.js';
import type { Consumer } from '../consumer.js';

const DEADLINE_MS = 1_000;

/** Reads from the store when the oldest queued message was received. */
export class OldestQueued {
  readonly #consumer: Pick<Consumer, 'oldestReceivedAtMs'>;
  #reading: Promise<number | null> | undefined;

  constructor(consumer: Pick<Consumer, 'oldestReceivedAtMs'>) {
    this.#consumer = consumer;
  }

  /** Null for an empty queue, undefined when the store does not answer in time. */
  async receivedAtMs(): Promise<number | null | undefined> {
    // One read at a time: while the store is away, callers share the waiting read.
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
    return (await this.#consumer.oldestReceivedAtMs()) ?? null;
  }
}
