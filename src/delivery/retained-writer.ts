import type { Logger } from 'pino';
import { pause, within } from '../site/pause.js';
import { type StoreHeadroom, storedBytesOf } from '../site/store-headroom.js';
import type { DirectMessage } from './direct-queue.js';

const TOPICS_A_WRITE = 250;
const RETRY_AFTER_MS = 1_000;
const STOP_TIMEOUT_MS = 1_000;

/** Stores retained messages. */
export interface RetainedStore {
  load(): AsyncIterable<DirectMessage>;
  /** Stores the message of its topic. */
  put(message: DirectMessage): Promise<void>;
  /** Removes the message of a topic. */
  remove(topic: string): Promise<void>;
}

/** The newest value of a topic that is not stored yet. */
interface Unstored {
  /** Undefined: the topic's message is to be removed. */
  readonly message: DirectMessage | undefined;
  readonly done: (() => void)[];
}

/**
 * Stores the newest retained message of each topic, behind the memory that has it.
 *
 * A bed mat that publishes a weight every second costs one value while the store is away. A store that is nearly full is
 * for alarms: a device's message is then kept in memory alone, and stored when there is room.
 */
export class RetainedWriter {
  readonly #store: RetainedStore;
  readonly #headroom: StoreHeadroom;
  readonly #log: Logger;
  /** By topic. */
  readonly #unstored = new Map<string, Unstored>();
  readonly #stopping = new AbortController();
  #writing: Promise<void> | undefined;

  constructor(store: RetainedStore, headroom: StoreHeadroom, log: Logger) {
    this.#store = store;
    this.#headroom = headroom;
    this.#log = log;
  }

  /** Resolves once the store has this message or a newer one of the topic, or has no room for it. */
  write(topic: string, message: DirectMessage | undefined): Promise<void> {
    return new Promise((resolve) => {
      const { done = [] } = this.#unstored.get(topic) ?? {};
      done.push(resolve);
      this.#unstored.set(topic, { message, done });
      this.#writing ??= this.#writeAll();
    });
  }

  /** Stores what it can, and gives up the rest, of which nothing was acknowledged. */
  async stop(): Promise<void> {
    if (this.#writing !== undefined) await within(this.#writing, STOP_TIMEOUT_MS);
    this.#stopping.abort();
  }

  async #writeAll(): Promise<void> {
    const { signal } = this.#stopping;
    let hasFailed = false;
    while (this.#unstored.size > 0 && !signal.aborted) {
      // What comes in one turn of the event loop is one write.
      await Promise.resolve();
      const batch = this.#takeBatch();
      const results = await Promise.allSettled(batch.map((one) => this.#put(one)));
      const failures = results.filter((one) => one.status === 'rejected');
      if (failures.length > 0 && !hasFailed && !signal.aborted) {
        const [{ reason: err } = { reason: undefined }] = failures;
        this.#log.warn({ part: 'retained', err }, 'failed to store a retained message');
      }
      hasFailed = failures.length > 0;
      if (hasFailed || batch.length === 0) await pause(RETRY_AFTER_MS, signal);
    }
    this.#writing = undefined;
  }

  /** Takes the next messages that the store has room for. */
  #takeBatch(): (Unstored & { readonly topic: string })[] {
    const batch = [];
    for (const [topic, { message, done }] of this.#unstored) {
      if (batch.length === TOPICS_A_WRITE) break;
      if (message?.isExpendable === true && !this.#headroom.hasRoom(storedBytesOf(message))) {
        // A device whose telemetry got no PUBACK would soon send no alarms either.
        if (done.length > 0) this.#headroom.notTaken('retained');
        for (const resolve of done.splice(0)) resolve();
        continue;
      }
      this.#unstored.delete(topic);
      batch.push({ topic, message, done });
    }
    return batch;
  }

  async #put({ topic, message, done }: Unstored & { readonly topic: string }): Promise<void> {
    const bytes = message === undefined ? 0 : storedBytesOf(message);
    this.#headroom.reserve(bytes);
    try {
      if (message === undefined) await this.#store.remove(topic);
      else await this.#store.put(message);
      for (const resolve of done) resolve();
    } catch (error) {
      const newer = this.#unstored.get(topic);
      if (newer === undefined) this.#unstored.set(topic, { message, done });
      else newer.done.push(...done);
      throw error;
    } finally {
      this.#headroom.stored(bytes);
    }
  }
}
