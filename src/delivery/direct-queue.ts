import { hasExpired } from '../mqtt/message-properties.js';
import { bytesOfMessage, type Message } from './message.js';

/** Direct messages are not guaranteed: a client that does not acknowledge must not take unbounded memory. */
const MAX_WAITING = 1_000;
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** How many filters may wait before those no longer subscribed to are removed. */
const MAX_WAITING_FILTERS = 1_000;

/** The retained messages for the subscriptions of one consumer. */
export interface RetainedSource {
  /** Yields undefined for a pause. */
  readonly matching: (filters: readonly string[]) => Iterator<Message | undefined>;
  /** Calls back after a pause. */
  readonly later: (resume: () => void) => void;
  /** The message as the consumer gets it; undefined when it does not (or no longer) concern the consumer. */
  readonly select: (message: Message) => Message | undefined;
  readonly isSubscribed: (filter: string) => boolean;
  /** Called when there may be more to take, after a pause. */
  readonly onMore: () => void;
}

/**
 * Messages that wait for room on one connection and are in no queue: those at QoS 1 that are sent only once, and then
 * the retained messages of new subscriptions.
 *
 * A retained message is read when its turn comes, so it is never older than a live one. One that was sent live
 * meanwhile is left out.
 */
export class DirectQueue {
  readonly #messages = new Set<Message>();
  #bytes = 0;
  #source: RetainedSource | undefined;
  /** Filters of the next run: those subscribed to during the current one. */
  readonly #filters = new Set<string>();
  #run: Iterator<Message | undefined> | undefined;
  #isPaused = false;
  /** Payloads by topic. */
  readonly #sentMeanwhile = new Map<string, Buffer>();

  /** Queues a message; drops the oldest when too many wait. */
  add(message: Message): void {
    this.#messages.add(message);
    this.#bytes += bytesOfMessage(message);
    while (this.#messages.size > MAX_WAITING || this.#bytes > MAX_WAITING_BYTES) this.#next();
  }

  /** Adds the retained messages that match these filters. */
  addRetained(filters: readonly string[], source: RetainedSource): void {
    this.#source = source;
    for (const filter of filters) this.#filters.add(filter);
    if (this.#filters.size <= MAX_WAITING_FILTERS) return;
    for (const filter of this.#filters) {
      if (!source.isSubscribed(filter)) this.#filters.delete(filter);
    }
  }

  /** Whether nothing waits. */
  get isIdle(): boolean {
    return this.#messages.size === 0 && !this.#isFeeding;
  }

  /** Notes a message that is being sent and so need not be sent as a retained one. */
  noteSent({ topic, payload }: Message): void {
    if (this.#isFeeding) this.#sentMeanwhile.set(topic, payload);
  }

  /** Removes and returns the next message that has not expired. */
  take(nowMs: number): Message | undefined {
    let message = this.#next();
    while (message?.properties !== undefined && hasExpired(message.properties, nowMs)) {
      message = this.#next();
    }
    return message;
  }

  get #isFeeding(): boolean {
    return this.#filters.size > 0 || this.#run !== undefined;
  }

  #next(): Message | undefined {
    const [message] = this.#messages;
    if (message === undefined) return this.#nextRetained();
    this.#messages.delete(message);
    this.#bytes -= bytesOfMessage(message);
    return message;
  }

  #nextRetained(): Message | undefined {
    while (this.#source !== undefined && this.#isFeeding && !this.#isPaused) {
      this.#run ??= this.#begin(this.#source);
      const { done, value } = this.#run.next();
      if (done === true) {
        this.#run = undefined;
        this.#sentMeanwhile.clear();
      } else if (value === undefined) this.#pause(this.#source);
      else if (this.#sentMeanwhile.get(value.topic)?.equals(value.payload) !== true) {
        const selected = this.#source.select(value);
        if (selected !== undefined) return selected;
      }
    }
    return undefined;
  }

  #pause({ later, onMore }: RetainedSource): void {
    this.#isPaused = true;
    later(() => {
      this.#isPaused = false;
      onMore();
    });
  }

  #begin({ matching }: RetainedSource): Iterator<Message | undefined> {
    const filters = [...this.#filters];
    this.#filters.clear();
    return matching(filters);
  }
}
