import type { Audience } from '../domain/grants.js';
import type { OutgoingPublish } from './receiver.js';
import type { QoS } from './subscriptions.js';

/** A message beside the logs: telemetry at QoS 0, retained messages, the gateway's own status. */
export interface DirectMessage extends Audience {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly retain: boolean;
}

/** Converts a message to the PUBLISH that is sent. */
export function directPublish(
  { topic, payload, retain }: Pick<DirectMessage, 'topic' | 'payload' | 'retain'>,
  qos: QoS,
  messageId: number,
): OutgoingPublish {
  return { topic, payload, retain, qos, messageId, dup: false };
}

/**
 * Direct messages are not guaranteed: a client that does not acknowledge must not take memory
 * without bound.
 */
const MAX_WAITING = 1_000;

/**
 * Queues messages beside the logs until a connection has room.
 *
 * A retained message must not arrive after a newer one of its topic, or a subscriber would take the
 * old state for the new.
 */
export class DirectQueue {
  readonly #queue = new Set<DirectMessage>();
  /** By topic. */
  readonly #retained = new Map<string, DirectMessage>();
  /**
   * For each fetch under way, the topics sent since it began: the fetch would bring older messages.
   */
  readonly #fetches = new Set<Set<string>>();

  /** Queues a message; drops the oldest when too many wait. */
  add(message: DirectMessage): void {
    this.#queue.add(message);
    if (this.#queue.size > MAX_WAITING) this.take();
  }

  /** Queues the fetched messages, except for topics sent meanwhile. */
  async addRetained(fetch: () => Promise<readonly DirectMessage[]>): Promise<void> {
    const sentMeanwhile = new Set<string>();
    this.#fetches.add(sentMeanwhile);
    try {
      for (const message of await fetch()) {
        if (!sentMeanwhile.has(message.topic)) this.#retained.set(message.topic, message);
      }
    } finally {
      this.#fetches.delete(sentMeanwhile);
    }
  }

  /** Whether nothing waits, and nothing is being fetched. */
  get isIdle(): boolean {
    return this.#queue.size + this.#retained.size + this.#fetches.size === 0;
  }

  /** Notes that a topic is being sent: its waiting retained message is outdated. */
  noteSent(topic: string): void {
    for (const sentMeanwhile of this.#fetches) sentMeanwhile.add(topic);
    this.#retained.delete(topic);
  }

  /** Removes and returns the next message. */
  take(): DirectMessage | undefined {
    const [message] = this.#queue;
    if (message !== undefined) {
      this.#queue.delete(message);
      return message;
    }
    const [retained] = this.#retained.values();
    if (retained !== undefined) this.#retained.delete(retained.topic);
    return retained;
  }

  clear(): void {
    this.#queue.clear();
    this.#retained.clear();
    this.#fetches.clear();
  }
}
