import type { DirectMessage } from './direct-queue.js';

/** The last message of each topic that was published to be retained. */
export interface RetainedMessages {
  /**
   * An empty payload removes it [MQTT-3.3.1-10]. Resolves to whether it is of use still: not when a
   * newer one has taken its place before it was stored.
   */
  store(message: DirectMessage): Promise<boolean>;
  /** Those that match any of the filters. */
  matching(filters: readonly string[]): Promise<DirectMessage[]>;
}
