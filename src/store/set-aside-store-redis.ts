import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { SetAsideMessage, SetAsideStore } from '../site/bridge-list.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { execute } from './transaction.js';

/** They are to be looked at one by one: more would only fill the store. */
const MAX_PER_BRIDGE = 1_000;

const messageSchema = z
  .object({ atMs: z.number(), topic: z.string(), reason: z.string(), base64: z.base64() })
  .transform(({ base64, ...message }) => ({ ...message, payload: Buffer.from(base64, 'base64') }));

/** The newest messages that the upstream of a bridge will never take. */
export class SetAsideStoreRedis implements SetAsideStore {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async add(bridge: string, { payload, ...message }: SetAsideMessage): Promise<void> {
    const key = this.#keys.setAside(bridge);
    const text = JSON.stringify({ ...message, base64: payload.toString('base64') });
    await answering(() =>
      execute(
        this.#redis
          .multi()
          .lpush(key, text)
          .ltrim(key, 0, MAX_PER_BRIDGE - 1),
      ),
    );
  }

  async list(bridge: string): Promise<SetAsideMessage[]> {
    const texts = await answering(() => this.#redis.lrange(this.#keys.setAside(bridge), 0, -1));
    return texts.map((text) => messageSchema.parse(JSON.parse(text)));
  }

  async clear(bridge: string): Promise<void> {
    await answering(() => this.#redis.del(this.#keys.setAside(bridge)));
  }
}
