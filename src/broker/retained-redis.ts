import type { RedisPersistence } from 'aedes-persistence-redis';
import { z } from 'zod';
import type { DirectMessage } from '../delivery/direct-queue.js';
import type { RetainedStore } from '../delivery/retained/retained-writer.js';
import { parseForwardedTopic } from '../domain/topics.js';

import { packProperties, unpackProperties } from '../mqtt/message-properties.js';

const NOTHING = Buffer.alloc(0);

const packetSchema = z.object({
  topic: z.string(),
  payload: z.instanceof(Buffer),
  qos: z.number(),
  groupId: z.string().nullable().default(null),
  givenIn: z.string().optional(),
  /** MQTT 5 properties (`packProperties`). */
  packed: z.instanceof(Buffer).optional(),
});

const TOPICS_A_PAGE = 500;

/**
 * Stores retained messages in aedes-persistence-redis, each with its group, a command with its location.
 *
 * The group is the device's group at the time of the publish: grants on other groups do not show
 * the message.
 */
export class RetainedRedis implements RetainedStore {
  readonly #persistence: RedisPersistence;
  readonly #topics: () => Promise<string[]>;
  readonly #onUnreadable: (topic: string) => void;

  /**
   * @param topics lists the topics that have a message
   * @param onUnreadable called for each message that cannot be read
   */
  constructor(
    persistence: RedisPersistence,
    topics: () => Promise<string[]>,
    onUnreadable: (topic: string) => void,
  ) {
    this.#persistence = persistence;
    this.#topics = topics;
    this.#onUnreadable = onUnreadable;
  }

  topics(): Promise<string[]> {
    return this.#topics();
  }

  async *load(topics: readonly string[]): AsyncGenerator<DirectMessage> {
    for (let from = 0; from < topics.length; from += TOPICS_A_PAGE) {
      const page = topics.slice(from, from + TOPICS_A_PAGE);
      const messages = await Promise.all(page.map((topic) => this.#read(topic)));
      for (const message of messages) if (message !== undefined) yield message;
    }
  }

  /** Reads one message at a time: the library's stream of all ends at the first unreadable one. */
  async #read(wanted: string): Promise<DirectMessage | undefined> {
    try {
      for await (const packet of this.#persistence.createRetainedStreamCombi([wanted])) {
        const { topic, payload, qos, groupId, givenIn, packed } = packetSchema.parse(packet);
        return {
          topic,
          payload,
          qos: qos === 0 ? 0 : 1,
          retain: true,
          locationId: parseForwardedTopic(topic)?.locationId ?? null,
          groupId,
          givenIn,
          properties: unpackProperties(packed),
        };
      }
    } catch {
      this.#onUnreadable(wanted);
    }
    return undefined;
  }

  async put({ topic, payload, qos, groupId, givenIn, properties }: DirectMessage): Promise<void> {
    const packet = { cmd: 'publish', topic, payload, qos, retain: true, dup: false } as const;
    const place = givenIn === undefined ? { groupId } : { groupId, givenIn };
    const packed = properties && packProperties(properties);
    await this.#persistence.storeRetained({ ...packet, ...place, ...(packed && { packed }) });
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
