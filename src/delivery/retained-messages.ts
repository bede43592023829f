import type { DirectMessage } from './direct-queue.js';

/** The last message of each topic that was published to be retained. */
export interface RetainedMessages {
  /**
   * Stores a message; an empty payload removes it [MQTT-3.3.1-10].
   *
   * Resolves to whether the message is still of use: false when a newer one took its place before
   * it was stored.
   */
  store(message: DirectMessage): Promise<boolean>;
  /** The retained messages that match any of the filters. */
  matching(filters: readonly string[]): Promise<DirectMessage[]>;
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
}
