import type { Logger } from 'pino';
import { within } from '../../site/clock/pause.js';
import { type StoreHeadroom, storedBytesOf } from '../../site/health/store-headroom.js';
import type { DirectMessage } from '../direct-queue.js';

const TOPICS_A_WRITE = 250;
const RETRY_AFTER_MS = 1_000;
const STOP_TIMEOUT_MS = 1_000;

/** Stores retained messages. */
export interface RetainedStore {
  /** The topics that have a message. */
  topics(): Promise<string[]>;
  /** The messages of the topics; those that cannot be read are reported instead. */
  load(
    topics: readonly string[],
    onUnreadable: (topic: string) => void,
  ): AsyncIterable<DirectMessage>;
  /** Stores the message of its topic. */
  put(message: DirectMessage): Promise<void>;
  /** Removes the message of a topic. */
  remove(topic: string): Promise<void>;
}

/** The newest value of a topic that is not stored yet. */
interface Unstored {
  /** Undefined: remove the topic's message. */
  readonly message: DirectMessage | undefined;
  /** Resolves once this value or a newer one is stored; shared by all values it has replaced. */
  readonly stored: Promise<void>;
  readonly resolve: () => void;
}

/**
 * Stores the newest retained message of each topic, after memory has it.
 *
 * While the store is away, a bed mat that publishes a weight every second costs one value. A nearly full store is for
 * alarms: a device's message then stays in memory only, its topic has none in the store, and it is stored once there
 * is room.
 */
export class RetainedWriter {
  readonly #store: RetainedStore;
  readonly #headroom: StoreHeadroom;
  readonly #log: Logger;
  /** By topic. */
  readonly #unstored = new Map<string, Unstored>();
  /** By topic: values that the store has refused or has no room for. */
  readonly #postponed = new Map<string, Unstored>();
  #writing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isStopped = false;

  constructor(store: RetainedStore, headroom: StoreHeadroom, log: Logger) {
    this.#store = store;
    this.#headroom = headroom;
    this.#log = log;
  }

  /** Resolves once the store has this message or a newer one of the topic, or has no room for it. */
  write(topic: string, message: DirectMessage | undefined): Promise<void> {
    const { stored, resolve } =
      this.#unstored.get(topic) ?? this.#postponed.get(topic) ?? promised();
    this.#postponed.delete(topic);
    if (message === undefined || this.#hasRoom(message)) {
      this.#unstored.set(topic, { message, stored, resolve });
    } else {
      this.#headroom.notTaken('retained');
      // A device whose telemetry gets no PUBACK would soon stop sending alarms too: removing the old value is enough.
      this.#unstored.set(topic, { message: undefined, stored, resolve });
      this.#postpone(topic, { message, ...promised() });
    }
    this.#begin();
    return stored;
  }

  /** Stores what it can. The rest was never acknowledged, or the store had no room for it. */
  async stop(): Promise<void> {
    if (this.#writing !== undefined) await within(this.#writing, STOP_TIMEOUT_MS);
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #begin(): void {
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    // The values of one turn of the event loop share one write.
    await Promise.resolve();
    while (this.#unstored.size > 0 && !this.#isStopped) {
      const batch = [...this.#unstored].slice(0, TOPICS_A_WRITE);
      for (const [topic] of batch) this.#unstored.delete(topic);
      await Promise.all(batch.map(([topic, one]) => this.#put(topic, one)));
    }
    // In the same turn, or the next value would wait for ever.
    this.#writing = undefined;
  }

  async #put(topic: string, one: Unstored): Promise<void> {
    const { message, resolve } = one;
    const bytes = message === undefined ? 0 : storedBytesOf(message);
    this.#headroom.reserve(bytes);
    try {
      if (message === undefined) await this.#store.remove(topic);
      else await this.#store.put(message);
      this.#hasFailed = false;
      resolve();
    } catch (err) {
      this.#failed(err);
      const newer = this.#unstored.get(topic) ?? this.#postponed.get(topic);
      if (newer === undefined) this.#postpone(topic, one);
      else void newer.stored.then(resolve);
    } finally {
      this.#headroom.stored(bytes);
    }
  }

  #postpone(topic: string, one: Unstored): void {
    this.#postponed.set(topic, one);
    this.#timer ??= setTimeout(() => this.#retry(), RETRY_AFTER_MS);
  }

  #retry(): void {
    this.#timer = undefined;
    for (const [topic, one] of this.#postponed) {
      if (this.#unstored.has(topic)) continue;
      if (one.message !== undefined && !this.#hasRoom(one.message)) continue;
      this.#postponed.delete(topic);
      this.#unstored.set(topic, one);
    }
    if (this.#postponed.size > 0) this.#timer = setTimeout(() => this.#retry(), RETRY_AFTER_MS);
    if (this.#unstored.size > 0) this.#begin();
  }

  #hasRoom(message: DirectMessage): boolean {
    return message.isExpendable !== true || this.#headroom.hasRoom(storedBytesOf(message));
  }

  /** One log line per outage, however often values are retried. */
  #failed(err: unknown): void {
    if (!this.#hasFailed && !this.#isStopped) {
      this.#log.warn({ part: 'retained', err }, 'failed to store a retained message');
    }
    this.#hasFailed = true;
  }
}

function promised(): Pick<Unstored, 'stored' | 'resolve'> {
  let resolve: () => void = () => undefined;
  const stored = new Promise<void>((done) => {
    resolve = done;
  });
  return { stored, resolve };
}
