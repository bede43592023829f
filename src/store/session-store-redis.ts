import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { SessionProgress, SessionRecord, SessionStore } from '../delivery/session-store.js';
import type { Keys } from './keys.js';

const subscriptionsSchema = z.array(
  z.object({
    filter: z.string(),
    qos: z.union([z.literal(0), z.literal(1)]),
    after: z.object({ alarms: z.number(), messages: z.number() }),
  }),
);

const recordSchema = z.object({
  owner: z.string(),
  subscriptions: z.string().transform((text) => subscriptionsSchema.parse(JSON.parse(text))),
  alarms: z.coerce.number(),
  messages: z.coerce.number(),
});

/**
 * Persistent sessions in Redis, a hash for each. All calls go over one connection: a cursor that is
 * saved before its session is deleted stays before it.
 */
export class SessionStoreRedis implements SessionStore {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async load(): Promise<SessionRecord[]> {
    const clientIds = await this.#redis.smembers(this.#keys.sessions);
    return Promise.all(clientIds.map((clientId) => this.#loadOne(clientId)));
  }

  async save(session: SessionRecord): Promise<void> {
    const { clientId, owner, subscriptions, cursors } = session;
    await this.#redis
      .multi()
      .hset(this.#keys.session(clientId), {
        owner,
        subscriptions: JSON.stringify(subscriptions),
        ...cursors,
      })
      .sadd(this.#keys.sessions, clientId)
      .exec();
  }

  async saveProgress(sessions: readonly SessionProgress[]): Promise<void> {
    const pipeline = this.#redis.pipeline();
    for (const { clientId, cursors } of sessions) {
      pipeline.hset(this.#keys.session(clientId), cursors);
    }
    await pipeline.exec();
  }

  async delete(clientId: string): Promise<void> {
    await this.#redis
      .multi()
      .del(this.#keys.session(clientId))
      .srem(this.#keys.sessions, clientId)
      .exec();
  }

  async #loadOne(clientId: string): Promise<SessionRecord> {
    const fields = await this.#redis.hgetall(this.#keys.session(clientId));
    const { owner, subscriptions, alarms, messages } = recordSchema.parse(fields);
    return { clientId, owner, subscriptions, cursors: { alarms, messages } };
  }
}
