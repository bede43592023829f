/**
 * Stores retained messages through aedes-persistence-redis, each with its group, a command with its location.
 *
 * The group is the device's group at the time of the publish: grants on other groups do not show the message.
 */
import createPersistence, { type RedisPersistence } from 'aedes-persistence-redis';
import { z } from 'zod';
import type { Message } from '../delivery/message.js';
import type { RetainedStore } from '../delivery/retained.js';
import { parseForwardedTopic } from '../domain/topics.js';
import { packProperties, unpackProperties } from '../mqtt/message-properties.js';
import type { Keys } from './keys.js';
import type { Store } from './store.js';

const NOTHING = Buffer.alloc(0);
const NOWHERE = { locationId: null, groupId: null } as const;
const TOPICS_A_PAGE = 500;

const packetSchema = z.object({
  topic: z.string(),
  payload: z.instanceof(Buffer),
  qos: z.number(),
  groupId: z.string().nullable().default(null),
  givenIn: z.string().optional(),
  /** MQTT 5 properties (`packProperties`). */
  packed: z.instanceof(Buffer).optional(),
});

export class RetainedRedis implements RetainedStore {
  readonly #persistence: RedisPersistence;
  readonly topics: () => Promise<string[]>;

  constructor(store: Store, { brokerPrefix, retained }: Keys) {
    const keyOf = (name: string) => brokerPrefix + name;
    // Its calls go through the store's door.
    const conn = {
      hset: (name: string, topic: string, packet: Buffer) =>
        store.write(['HSET', keyOf(name), topic, packet]),
      hdel: (name: string, topic: string) => store.write(['HDEL', keyOf(name), topic]),
      hgetBuffer: (name: string, topic: string) =>
        store.read((redis) => redis.hgetBuffer(keyOf(name), topic)),
    };
    this.#persistence = createPersistence({ conn });
    this.topics = () => store.read((redis) => redis.hkeys(retained));
  }

  async *load(
    topics: readonly string[],
    onUnreadable: (topic: string) => void,
  ): AsyncGenerator<Message> {
    for (let from = 0; from < topics.length; from += TOPICS_A_PAGE) {
      const page = topics.slice(from, from + TOPICS_A_PAGE);
      const messages = await Promise.all(page.map((topic) => this.#read(topic, onUnreadable)));
      yield* messages.flatMap((message) => message ?? []);
    }
  }

  /** Reads one message at a time: the library's stream of all ends at the first unreadable one. */
  async #read(wanted: string, onUnreadable: (topic: string) => void): Promise<Message | undefined> {
    try {
      const [packet] = await this.#persistence.createRetainedStreamCombi([wanted]).toArray();
      if (packet === undefined) return undefined;
      const { topic, payload, qos, packed, ...place } = packetSchema.parse(packet);
      const locationId = parseForwardedTopic(topic)?.locationId ?? null;
      const flags = { qos: qos === 0 ? 0 : 1, retain: true, receivedAtMs: 0 } as const;
      const properties = unpackProperties(packed);
      return { topic, payload, ...flags, ...place, locationId, properties };
    } catch {
      onUnreadable(wanted);
      return undefined;
    }
  }

  async put({ topic, payload, qos = 1, groupId, givenIn, properties }: Message): Promise<void> {
    const packet = { cmd: 'publish', topic, payload, qos, retain: true, dup: false } as const;
    const place = givenIn === undefined ? { groupId } : { groupId, givenIn };
    const packed = properties && packProperties(properties);
    await this.#persistence.storeRetained({ ...packet, ...place, ...(packed && { packed }) });
  }

  /** Removes a message, by an empty payload [MQTT-3.3.1-10]. */
  remove(topic: string): Promise<void> {
    return this.put({ topic, payload: NOTHING, qos: 0, receivedAtMs: 0, ...NOWHERE });
  }
}
