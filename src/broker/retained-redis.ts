import type { RedisPersistence } from 'aedes-persistence-redis';
import { z } from 'zod';
import type { DirectMessage } from '../delivery/direct-queue.js';
import type { RetainedMessages } from '../delivery/retained-messages.js';
import type { Audience } from '../domain/grants.js';
import { matchesFilter } from '../domain/topics.js';

const packetSchema = z.object({
  topic: z.string(),
  payload: z.instanceof(Buffer),
  qos: z.number(),
});

/** Retained messages in aedes-persistence-redis. */
export class RetainedRedis implements RetainedMessages {
  readonly #persistence: RedisPersistence;
  readonly #audienceOf: (topic: string) => Audience;

  /** @param audienceOf what a topic is about now; a device may have come to another group since */
  constructor(persistence: RedisPersistence, audienceOf: (topic: string) => Audience) {
    this.#persistence = persistence;
    this.#audienceOf = audienceOf;
  }

  async store(message: DirectMessage): Promise<void> {
    await this.#persistence.storeRetained({
      cmd: 'publish',
      topic: message.topic,
      payload: message.payload,
      qos: message.qos,
      retain: true,
      dup: false,
    });
  }

  /** Each once: under overlapping filters, or while its hash grows, Redis tells of one twice. */
  async matching(filters: readonly string[]): Promise<DirectMessage[]> {
    const messages = new Map<string, DirectMessage>();
    const found = this.#persistence.createRetainedStreamCombi(filters.map(withoutGlob));
    for await (const packet of found) {
      const { topic, payload, qos } = packetSchema.parse(packet);
      if (!filters.some((filter) => matchesFilter(filter, topic))) continue;
      const audience = this.#audienceOf(topic);
      messages.set(topic, { topic, payload, qos: qos === 0 ? 0 : 1, retain: true, ...audience });
    }
    return [...messages.values()];
  }
}

/**
 * The filter, wider where a level holds what Redis takes for part of a pattern: the library hands
 * the levels before the first wildcard to HSCAN as they are.
 */
function withoutGlob(filter: string): string {
  return filter.replace(/[^/]*[[\\][^/]*/g, '+');
}
