import type { DirectMessage } from './direct-queue.js';

/** The last message of each topic that was published to be retained. */
export interface RetainedMessages {
  /** An empty payload removes it [MQTT-3.3.1-10]. */
  store(message: DirectMessage): Promise<void>;
  /** Those that match any of the filters. */
  matching(filters: readonly string[]): Promise<DirectMessage[]>;
}
