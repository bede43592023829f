import { PacketError, PROTOCOL_ERROR, TOPIC_ALIAS_INVALID } from '../../mqtt/codes.js';
import type { PublishPacket } from '../../mqtt/packets.js';

/** How many topics a client may replace by a number; a device has about ten. */
export const MAX_TOPIC_ALIASES = 64;

/** The topics that a client sends as numbers (MQTT 5, 3.3.2.3.4). */
export class TopicAliases {
  readonly #topics = new Map<number, string>();

  /**
   * The packet with its topic.
   *
   * @throws PacketError for a number that is too high, or stands for no topic
   */
  resolve(packet: PublishPacket): PublishPacket {
    const alias = packet.properties?.topicAlias;
    if (alias === undefined) return packet;
    // [MQTT-3.3.2-8]
    if (alias === 0 || alias > MAX_TOPIC_ALIASES) {
      throw new PacketError('unusable topic alias', TOPIC_ALIAS_INVALID);
    }
    if (packet.topic !== '') {
      this.#topics.set(alias, packet.topic);
      return packet;
    }
    const topic = this.#topics.get(alias);
    if (topic === undefined) {
      throw new PacketError('a topic alias that stands for no topic', PROTOCOL_ERROR);
    }
    return { ...packet, topic };
  }
}

/** The numbers that replace topics in messages to one client. */
export class SentAliases {
  readonly #aliases = new Map<string, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** The number that the client knows for a topic. */
  of(topic: string): number | undefined {
    return this.#aliases.get(topic);
  }

  /** The number that the next topic gets; undefined: none is left. */
  get unused(): number | undefined {
    const { size } = this.#aliases;
    return size < this.#max ? size + 1 : undefined;
  }

  /** Notes that the client knows the topic by the number that was `unused`. */
  add(topic: string): void {
    this.#aliases.set(topic, this.#aliases.size + 1);
  }
}
