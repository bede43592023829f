import type { DirectMessage } from './direct-queue.js';

/** The last message of each topic that was published to be retained. */
export interface RetainedMessages {
  /**
   * Stores a message; an empty payload removes it [MQTT-3.3.1-10].
   *
   * A store that runs short takes an expendable message only in the place of one that is as large.
   * Otherwise the topic has no retained message, rather than an outdated one [MQTT-3.3.1-7].
   *
   * Resolves to whether the message is still of use: false when a newer one took its place before
   * it was stored.
   */
  store(message: DirectMessage): Promise<boolean>;
  /**
   * The retained messages that match any of the filters, in pages of bounded size.
   *
   * Each page is read when it is asked for, and holds the messages of that time.
   */
  matching(filters: readonly string[]): AsyncIterableIterator<readonly DirectMessage[]>;
}

/** A topic with a retained message, and about how many bytes that has. */
export interface RetainedTopic {
  readonly topic: string;
  readonly bytes: number;
}

/** The topics that have a retained message. */
export interface RetainedTopics {
  /** In pages of bounded size; a topic may be in two of them. */
  startingWith(prefix: string): AsyncIterable<readonly RetainedTopic[]>;
  /** Bytes of the topic's message, 0 without one. */
  bytesOf(topic: string): Promise<number>;
}
