import type { DirectMessage } from '../direct-queue.js';
import type { RetainedMessages } from './retained-messages.js';

/** How many filters may wait before those no longer subscribed to are removed. */
const MAX_WAITING_FILTERS = 1_000;

export interface RetainedFeedOptions {
  readonly retained: Pick<RetainedMessages, 'matching' | 'later'>;
  /** The message as the consumer gets it; undefined when it does not (or no longer) concern the consumer. */
  readonly select: (message: DirectMessage) => DirectMessage | undefined;
  readonly isSubscribed: (filter: string) => boolean;
  /** Called when there may be something to take, after a pause for others. */
  readonly onMore: () => void;
}

/**
 * The retained messages for new subscriptions of one connection.
 *
 * It gives one message at a time, as it is when the connection has room, so never older than a live one. It leaves
 * out a message that was sent live meanwhile.
 */
export class RetainedFeed {
  readonly #options: RetainedFeedOptions;
  /** Filters of the next run: those subscribed to during the current one. */
  readonly #filters = new Set<string>();
  /** Payloads by topic. */
  readonly #sentMeanwhile = new Map<string, Buffer>();
  #run: Iterator<DirectMessage | undefined> | undefined;
  #isPaused = false;
  #isClosed = false;

  constructor(options: RetainedFeedOptions) {
    this.#options = options;
  }

  /** Whether nothing is left to take, now or later. */
  get isIdle(): boolean {
    return this.#filters.size === 0 && this.#run === undefined;
  }

  add(filters: readonly string[]): void {
    for (const filter of filters) this.#filters.add(filter);
    if (this.#filters.size <= MAX_WAITING_FILTERS) return;
    for (const filter of this.#filters) {
      if (!this.#options.isSubscribed(filter)) this.#filters.delete(filter);
    }
  }

  /** Notes a message that is being sent. */
  noteSent(topic: string, payload: Buffer): void {
    if (!this.isIdle) this.#sentMeanwhile.set(topic, payload);
  }

  /** Returns the next message; undefined when none is available now. */
  take(): DirectMessage | undefined {
    if (this.#isPaused) return undefined;
    while (!this.isIdle) {
      this.#run ??= this.#begin();
      const { done, value } = this.#run.next();
      if (done === true) {
        this.#run = undefined;
        this.#sentMeanwhile.clear();
      } else if (value === undefined) {
        this.#isPaused = true;
        this.#options.retained.later(() => this.#resume());
        return undefined;
      } else if (this.#sentMeanwhile.get(value.topic)?.equals(value.payload) !== true) {
        const selected = this.#options.select(value);
        if (selected !== undefined) return selected;
      }
    }
    return undefined;
  }

  close(): void {
    this.#isClosed = true;
  }

  #begin(): Iterator<DirectMessage | undefined> {
    const filters = [...this.#filters];
    this.#filters.clear();
    return this.#options.retained.matching(filters);
  }

  #resume(): void {
    this.#isPaused = false;
    if (!this.#isClosed) this.#options.onMore();
  }
}
