import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RetainedTopic, RetainedTopics } from '../delivery/retained-messages.js';
import { Script } from './scripts.js';

const listTopics = new Script('retained-topics', z.array(z.union([z.string(), z.number()])));

/** The key of aedes-persistence-redis, below the prefix of its connection. */
const RETAINED = 'retained';
const STEPS_PER_CALL = 40;
const BYTES_PER_CALL = 512 * 1024;

/** The topics that have a retained message in Redis. */
export class RetainedTopicsRedis implements RetainedTopics {
  readonly #redis: Redis;

  /** @param redis the connection of aedes-persistence-redis: reads come after its writes */
  constructor(redis: Redis) {
    this.#redis = redis;
  }

  bytesOf(topic: string): Promise<number> {
    return this.#redis.hstrlen(RETAINED, topic);
  }

  async *startingWith(prefix: string): AsyncGenerator<readonly RetainedTopic[]> {
    const pattern = `${prefix.replace(/[[\]*?^\\]/g, '\\$&')}*`;
    for (let cursor = '0'; ; ) {
      const args = [cursor, pattern, STEPS_PER_CALL, BYTES_PER_CALL];
      const [next, ...pairs] = await listTopics.run(this.#redis, [RETAINED], args);
      yield topicsIn(pairs);
      if (next === undefined || next === '0') return;
      cursor = String(next);
    }
  }
}

function topicsIn(pairs: readonly (string | number)[]): RetainedTopic[] {
  const topics: RetainedTopic[] = [];
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    topics.push({ topic: String(pairs[at]), bytes: Number(pairs[at + 1]) });
  }
  return topics;
}
