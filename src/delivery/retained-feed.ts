import type { DirectMessage } from './direct-queue.js';
import type { RetainedMessages } from './retained-messages.js';

/** Filters that may wait before those that are subscribed to no more are taken out. */
const MAX_WAITING_FILTERS = 1_000;

export interface RetainedFeedOptions {
  readonly retained: Pick<RetainedMessages, 'matching'>;
  /** The message as the consumer gets it; undefined when it does not concern the consumer (any more). */
  readonly select: (message: DirectMessage) => DirectMessage | undefined;
  readonly isSubscribed: (filter: string) => boolean;
  /** Called when there is something to take. */
  readonly onPage: () => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * What new subscriptions of one connection get of the retained messages.
 *
 * One page is in memory, and the next is read when that is sent: a subscriber to everything costs as much
 * as it takes at a time (FINDINGS S1). A retained message must not arrive after a newer one of its topic,
 * or a subscriber would take the old state for the new.
 */
export class RetainedFeed {
  readonly #options: RetainedFeedOptions;
  /** Filters of the next run: those subscribed to while one is under way. */
  readonly #filters = new Set<string>();
  #run: AsyncIterator<readonly DirectMessage[]> | undefined;
  #isReading = false;
  #isClosed = false;
  /** By topic. */
  readonly #page = new Map<string, DirectMessage>();
  /** Topics sent since the page that is being read was asked for: it may hold older messages. */
  readonly #sentMeanwhile = new Set<string>();

  constructor(options: RetainedFeedOptions) {
    this.#options = options;
  }

  /** Whether there is nothing to take, now or later. */
  get isIdle(): boolean {
    return this.#page.size + this.#filters.size === 0 && this.#run === undefined;
  }

  add(filters: readonly string[]): void {
    for (const filter of filters) this.#filters.add(filter);
    if (this.#filters.size <= MAX_WAITING_FILTERS) return;
    for (const filter of this.#filters) {
      if (!this.#options.isSubscribed(filter)) this.#filters.delete(filter);
    }
  }

  /** Notes that a topic is being sent: its retained message is outdated. */
  noteSent(topic: string): void {
    this.#page.delete(topic);
    if (this.#isReading) this.#sentMeanwhile.add(topic);
  }

  /** Removes and returns the next message; without one, has the next page read. */
  take(): DirectMessage | undefined {
    const [message] = this.#page.values();
    if (message === undefined) void this.#read();
    else this.#page.delete(message.topic);
    return message;
  }

  /** Ends it; what is being read is not used. */
  close(): void {
    this.#isClosed = true;
  }

  async #read(): Promise<void> {
    if (this.#isReading || this.#isClosed || this.isIdle) return;
    this.#run ??= this.#begin();
    this.#isReading = true;
    try {
      const { done, value } = await this.#run.next();
      if (done === true) this.#run = undefined;
      else this.#fill(value);
    } catch (error) {
      this.#run = undefined;
      if (!this.#isClosed) this.#options.onFailure(error);
    } finally {
      this.#isReading = false;
      this.#sentMeanwhile.clear();
    }
    if (!this.#isClosed) this.#options.onPage();
  }

  #begin(): AsyncIterator<readonly DirectMessage[]> {
    const filters = [...this.#filters];
    this.#filters.clear();
    return this.#options.retained.matching(filters);
  }

  #fill(page: readonly DirectMessage[]): void {
    for (const message of page) {
      const selected = this.#options.select(message);
      if (selected === undefined || this.#sentMeanwhile.has(message.topic)) continue;
      this.#page.set(message.topic, selected);
    }
  }
}
