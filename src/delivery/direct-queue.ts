import type { Audience } from '../domain/grants.js';
import { hasExpired, type MessageProperties } from '../mqtt/message-properties.js';
import { bytesOfMessage } from './message.js';
import { RetainedFeed, type RetainedFeedOptions } from './retained/retained-feed.js';
import type { QoS } from './sessions/subscriptions.js';

/** A message outside the logs: telemetry at QoS 0, retained messages, the gateway's own status. */
export interface DirectMessage extends Audience {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
  readonly properties?: MessageProperties | undefined;
  readonly publisher?: string | undefined;
  /** Whether a store short of room may skip retaining the message. */
  readonly isExpendable?: boolean;
  /** The location of a command's device when the command was given. */
  readonly givenIn?: string | undefined;
}

/** Direct messages are not guaranteed: a client that does not acknowledge must not take unbounded memory. */
const MAX_WAITING = 1_000;
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/** Queues messages outside the logs until a connection has room. */
export class DirectQueue {
  readonly #queue = new Set<DirectMessage>();
  #bytes = 0;
  #retained: RetainedFeed | undefined;

  /** Queues a message; drops the oldest when too many wait. */
  add(message: DirectMessage): void {
    this.#queue.add(message);
    this.#bytes += bytesOfMessage(message);
    while (this.#queue.size > MAX_WAITING || this.#bytes > MAX_WAITING_BYTES) this.take();
  }

  /** Adds the retained messages that match these filters. */
  addRetained(filters: readonly string[], options: RetainedFeedOptions): void {
    this.#retained ??= new RetainedFeed(options);
    this.#retained.add(filters);
  }

  /** Whether nothing waits and nothing is being read. */
  get isIdle(): boolean {
    return this.#queue.size === 0 && this.#retained?.isIdle !== false;
  }

  /** Notes a message that is being sent and so need not be sent as a retained one. */
  noteSent(topic: string, payload: Buffer): void {
    this.#retained?.noteSent(topic, payload);
  }

  /** Removes and returns the next message that has not expired. */
  takeAt(nowMs: number): DirectMessage | undefined {
    let message = this.take();
    while (message?.properties !== undefined && hasExpired(message.properties, nowMs)) {
      message = this.take();
    }
    return message;
  }

  /** Removes and returns the next message. */
  take(): DirectMessage | undefined {
    const [message] = this.#queue;
    if (message === undefined) return this.#retained?.take();
    this.#queue.delete(message);
    this.#bytes -= bytesOfMessage(message);
    return message;
  }

  /** Closes the queue. A read in progress is not used. */
  close(): void {
    this.#retained?.close();
  }
}
