import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LogPositions } from '../delivery/log/log-entry.js';
import { sessionKey } from '../delivery/sessions/session.js';
import type {
  SessionPosition,
  SessionRecord,
  SessionStore,
  StoredSessions,
} from '../delivery/sessions/session-store.js';
import { unlessOfAnotherType } from './failures.js';
import type { Keys } from './keys.js';
import { execute, runAtOnce } from './server/transaction.js';

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
  ackFloor: z.number(),
  delivered: z.number(),
  expired: z.number(),
  dropped: z.number(),
  deadLetters: z.number().optional(),
  lost: z.number().optional(),
  unread: z.number(),
  unreadBytes: z.number(),
  countedUpTo: z.number(),
  sentUpTo: z.number().optional(),
  sent: z.object({ upTo: z.number(), sequences: z.array(z.number()).readonly() }).optional(),
  ahead: z.object({ first: z.number(), bits: z.base64() }).optional(),
});

function json<T>(schema: z.ZodType<T>) {
  return z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue('is no JSON');
        return z.NEVER;
      }
    })
    .pipe(schema);
}

const record = z.object({
  owner: z.string(),
  subscriptions: json(subscriptions),
  cursors: json(z.object({ alarms: cursor, messages: cursor })),
  seenAtMs: z.coerce.number(),
});
const identifiers = z.array(z.coerce.number());
const storedPositions = z.object({
  alarms: z.coerce.number().default(0),
  messages: z.coerce.number().default(0),
});

/** How many sessions one round trip reads. */
const PAGE_SESSIONS = 500;

/**
 * Persistent sessions in Redis, a hash for each.
 *
 * All calls go over one connection, so a cursor's save cannot overtake the deletion of its session.
 */
export class SessionStoreRedis implements SessionStore {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async load(): Promise<StoredSessions> {
    const keys = await this.#redis.smembers(this.#keys.sessions);
    const sessions: StoredSessions['sessions'][number][] = [];
    const unreadable: string[] = [];
    for (let at = 0; at < keys.length; at += PAGE_SESSIONS) {
      const page = keys.slice(at, at + PAGE_SESSIONS);
      const read = await Promise.all(page.map((key) => this.#read(key)));
      for (const [index, session] of read.entries()) {
        if (session === undefined) unreadable.push(page[index] ?? '');
        else sessions.push(session);
      }
    }
    const countedUpTo = await this.#redis.hgetall(this.#keys.countedUpTo);
    return { sessions, unreadable, countedUpTo: storedPositions.parse(countedUpTo) };
  }

  async save(session: SessionRecord): Promise<void> {
    const { key, owner } = session;
    const { cursors, seenAtMs } = positionFields(session);
    const subscriptions = JSON.stringify(session.subscriptions);
    const fields = ['owner', owner, 'subscriptions', subscriptions, 'cursors', cursors];
    await runAtOnce(this.#redis, [
      ['HSET', this.#keys.session(key), ...fields, 'seenAtMs', seenAtMs],
      ['SADD', this.#keys.sessions, key],
    ]);
  }

  async saveCursors(sessions: readonly SessionPosition[]): Promise<void> {
    const pipeline = this.#redis.pipeline();
    for (const session of sessions) {
      pipeline.hset(this.#keys.session(session.key), positionFields(session));
    }
    await execute(pipeline);
  }

  async saveCountedUpTo({ alarms, messages }: LogPositions): Promise<void> {
    await this.#redis.hset(this.#keys.countedUpTo, { alarms, messages });
  }

  async release(key: string, packetIdentifiers: readonly number[]): Promise<void> {
    await this.#redis.hdel(this.#keys.received(key), ...packetIdentifiers.map(String));
  }

  async delete(key: string): Promise<void> {
    await runAtOnce(this.#redis, [
      ['DEL', this.#keys.session(key), this.#keys.received(key)],
      ['SREM', this.#keys.sessions, key],
    ]);
  }

  /** Reads one session; undefined, and that one left out, when its record is unreadable. */
  async #read(key: string): Promise<StoredSessions['sessions'][number] | undefined> {
    // A key of another type is as unreadable as one with other fields.
    const [fields, received] = await Promise.all([
      unlessOfAnotherType(this.#redis.hgetall(this.#keys.session(key))),
      unlessOfAnotherType(this.#redis.hkeys(this.#keys.received(key))),
    ]);
    const parsed = record.safeParse(fields);
    if (!parsed.success) return undefined;
    const prefix = sessionKey(parsed.data.owner, '');
    if (!key.startsWith(prefix)) return undefined;
    const known = identifiers.safeParse(received);
    const clientId = key.slice(prefix.length);
    return { key, clientId, ...parsed.data, received: known.data ?? [] };
  }
}

function positionFields({ cursors, seenAtMs }: SessionPosition): {
  readonly cursors: string;
  readonly seenAtMs: string;
} {
  return { cursors: JSON.stringify(cursors), seenAtMs: String(seenAtMs) };
}
