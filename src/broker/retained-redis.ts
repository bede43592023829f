import type { RedisPersistence } from 'aedes-persistence-redis';
import { z } from 'zod';
import type { DirectMessage } from '../delivery/direct-queue.js';
import type { RetainedMessages } from '../delivery/retained-messages.js';
import { matchesFilter, parseForwardedTopic } from '../domain/topics.js';

const packetSchema = z.object({
  topic: z.string(),
  payload: z.instanceof(Buffer),
  qos: z.number(),
  groupId: z.string().nullable().default(null),
});

/**
 * Stores retained messages in aedes-persistence-redis, each with its group.
 *
 * The group is the one that the device was in when the message was published: grants on other
 * groups do not show it.
 */
export class RetainedRedis implements RetainedMessages {
  readonly #persistence: RedisPersistence;

  constructor(persistence: RedisPersistence) {
    this.#persistence = persistence;
  }

  async store(message: DirectMessage): Promise<boolean> {
    await this.#persistence.storeRetained({
      cmd: 'publish',
      topic: message.topic,
      payload: message.payload,
      qos: message.qos,
      retain: true,
      dup: false,
      groupId: message.groupId,
    });
    return true;
  }

  /**
   * Returns each message once: Redis repeats some under overlapping filters, or while its hash
   * grows.
   */
  async matching(filters: readonly string[]): Promise<DirectMessage[]> {
    const messages = new Map<string, DirectMessage>();
    const found = this.#persistence.createRetainedStreamCombi(filters.map(withoutGlob));
    for await (const packet of found) {
      const { topic, payload, qos, groupId } = packetSchema.parse(packet);
      if (!filters.some((filter) => matchesFilter(filter, topic))) continue;
      const locationId = parseForwardedTopic(topic)?.locationId ?? null;
      const about = { locationId, groupId };
      messages.set(topic, { topic, payload, qos: qos === 0 ? 0 : 1, retain: true, ...about });
    }
    return [...messages.values()];
  }
}

/**
 * Widens the filter where a level holds characters of a Redis pattern.
 *
 * The library passes the levels before the first wildcard to HSCAN as they are.
 */
function withoutGlob(filter: string): string {
  return filter.replace(/[^/]*[[\\][^/]*/g, '+');
}
