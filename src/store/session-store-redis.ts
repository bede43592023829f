import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { SessionProgress, SessionRecord, SessionStore } from '../delivery/session-store.js';
import type { Keys } from './keys.js';
import { execute } from './transaction.js';

const positions = z.object({ alarms: z.number(), messages: z.number() });
const subscriptions = z.array(
  z.object({
    filter: z.string(),
    qos: z.union([z.literal(0), z.literal(1)]),
    after: positions,
    until: positions.optional(),
  }),
);
const cursor = z.object({
  settled: z.number(),
  delivered: z.number(),
  expired: z.number(),
  dropped: z.number(),
  toSkip: z.number(),
  refused: z.number().optional(),
  sentUpTo: z.number().optional(),
  sent: z.object({ upTo: z.number(), sequences: z.array(z.number()) }).optional(),
  ahead: z.object({ first: z.number(), bits: z.base64() }).optional(),
});

function json<T>(schema: z.ZodType<T>) {
  return z.string().transform((text) => schema.parse(JSON.parse(text)));
}

const record = z.object({
  owner: z.string(),
  subscriptions: json(subscriptions),
  cursors: json(z.object({ alarms: cursor, messages: cursor })),
  seenAtMs: z.coerce.number(),
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
    return Promise.all(
      clientIds.map(async (clientId) => {
        const fields = await this.#redis.hgetall(this.#keys.session(clientId));
        return { clientId, ...record.parse(fields) };
      }),
    );
  }

  async save(session: SessionRecord): Promise<void> {
    const { clientId, owner } = session;
    const fields = {
      owner,
      subscriptions: JSON.stringify(session.subscriptions),
      ...progressFields(session),
    };
    await execute(
      this.#redis
        .multi()
        .hset(this.#keys.session(clientId), fields)
        .sadd(this.#keys.sessions, clientId),
    );
  }

  async saveProgress(sessions: readonly SessionProgress[]): Promise<void> {
    const pipeline = this.#redis.pipeline();
    for (const session of sessions) {
      pipeline.hset(this.#keys.session(session.clientId), progressFields(session));
    }
    await execute(pipeline);
  }

  async delete(clientId: string): Promise<void> {
    await execute(
      this.#redis.multi().del(this.#keys.session(clientId)).srem(this.#keys.sessions, clientId),
    );
  }
}

function progressFields({ cursors, seenAtMs }: SessionProgress): Record<string, string | number> {
  return { cursors: JSON.stringify(cursors), seenAtMs };
}
