import type { RedisPersistence } from 'aedes-persistence-redis';
import { z } from 'zod';
import type { DirectMessage } from '../delivery/direct-queue.js';
import type { RetainedStore } from '../delivery/retained-writer.js';
import { parseForwardedTopic } from '../domain/topics.js';

const NOTHING = Buffer.alloc(0);

const packetSchema = z.object({
  topic: z.string(),
  payload: z.instanceof(Buffer),
  qos: z.number(),
  groupId: z.string().nullable().default(null),
  givenIn: z.string().optional(),
});

/**
 * Stores retained messages in aedes-persistence-redis, each with its group, a command with its location.
 *
 * The group is the one that the device was in when the message was published: grants on other
 * groups do not show it.
 */
export class RetainedRedis implements RetainedStore {
  readonly #persistence: RedisPersistence;

  constructor(persistence: RedisPersistence) {
    this.#persistence = persistence;
  }

  async *load(): AsyncGenerator<DirectMessage> {
    for await (const packet of this.#persistence.createRetainedStreamCombi(['#'])) {
      const { topic, payload, qos, groupId, givenIn } = packetSchema.parse(packet);
      yield {
        topic,
        payload,
        qos: qos === 0 ? 0 : 1,
        retain: true,
        locationId: parseForwardedTopic(topic)?.locationId ?? null,
        groupId,
        givenIn,
      };
    }
  }

  async put({ topic, payload, qos, groupId, givenIn }: DirectMessage): Promise<void> {
    const packet = { cmd: 'publish', topic, payload, qos, retain: true, dup: false } as const;
    const place = givenIn === undefined ? { groupId } : { groupId, givenIn };
    await this.#persistence.storeRetained({ ...packet, ...place });
  }

  /** Removes a message, by an empty payload [MQTT-3.3.1-10]. */
  async remove(topic: string): Promise<void> {
    await this.put({
      topic,
      payload: NOTHING,
      qos: 0,
      retain: true,
      locationId: null,
      groupId: null,
    });
  }
}
