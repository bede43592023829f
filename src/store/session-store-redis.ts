import { z } from 'zod';
import type { Backlog } from '../delivery/queues/queue-store.js';
import { sessionKey } from '../delivery/sessions/session.js';
import type {
  SessionRecord,
  SessionStore,
  StoredSessions,
} from '../delivery/sessions/session-store.js';
import { unlessOfAnotherType } from './failures.js';
import { GroupCommit } from './group-commit.js';
import type { Keys } from './keys.js';
import { ACCOUNT_FIELDS } from './queue-store-redis.js';
import { Script } from './scripts.js';
import type { Store, StoreCommand } from './store.js';

const subscriptions = z.array(
  z.object({
    filter: z.string(),
    qos: z.union([z.literal(0), z.literal(1)]),
    isNoLocal: z.literal(true).optional(),
    isRetainAsPublished: z.literal(true).optional(),
    identifier: z.number().optional(),
  }),
);

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
  seenAtMs: z.coerce.number(),
  /** Empty: the session has none of its own. */
  expirySeconds: z
    .string()
    .optional()
    .transform((text) => (text ? Number(text) : undefined)),
});
const mendDestination = new Script(
  'mend-destination',
  z.tuple([z.number(), z.number(), z.number()]),
);
const identifiers = z.array(z.coerce.number());
/** How many sessions one round trip reads. */
const PAGE_SESSIONS = 500;
/** How many changes of sessions one call writes. */
const CHANGES_AT_ONCE = 100;
/** How many entries of a stream one command reads. */
const PAGE_ENTRIES = 500;
/** Of an entry of a stream: payload and properties. */
const SIZED_FIELDS = ['p', 'm'];
/** How many packet identifiers one command releases. */
const RELEASED_AT_ONCE = 1_000;

type Commands = readonly [StoreCommand, ...StoreCommand[]];

const WRITTEN = { status: 'fulfilled', value: undefined } as const;

/**
 * Persistent sessions in Redis, a hash for each.
 *
 * Changes are written in the order of the calls, so the save of a session cannot overtake its deletion. What
 * comes while others are being written is one write.
 */
export class SessionStoreRedis implements SessionStore {
  readonly #store: Store;
  readonly #keys: Keys;
  readonly #changes = new GroupCommit<Commands, void>((all) => this.#write(all), CHANGES_AT_ONCE);

  /** @param store waits for a store that is away */
  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async load(): Promise<StoredSessions> {
    const keys = await this.#store.read((redis) => redis.smembers(this.#keys.sessions));
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
    return { sessions, unreadable };
  }

  async save(session: SessionRecord): Promise<void> {
    const { key } = session;
    await this.#changes.add([
      ['HSET', this.#keys.session(key), ...fieldsOf(session)],
      ['SADD', this.#keys.sessions, key],
    ]);
  }

  async mend(session: SessionRecord): Promise<Backlog> {
    const { key } = session;
    const { sessions } = this.#keys;
    const keys = [this.#keys.session(key), this.#keys.queue(key), this.#keys.values(key), sessions];
    const fields = fieldsOf(session);
    const { last, bytes } = await this.#countBytes(this.#keys.values(key));
    const args = [key, last, bytes, fields.length, ...fields, ...ACCOUNT_FIELDS];
    const [alarms, messages, messageBytes] = await this.#store.run(mendDestination, keys, args);
    return { alarms, messages, messageBytes };
  }

  /** Counts the bytes of payloads and properties page by page: a bridge may have 256 MiB of them. */
  async #countBytes(stream: string): Promise<{ readonly last: string; readonly bytes: number }> {
    let last = '';
    let bytes = 0;
    for (;;) {
      const from = last === '' ? '-' : `(${last}`;
      const read = this.#store.read((redis) =>
        redis.xrangeBuffer(stream, from, '+', 'COUNT', PAGE_ENTRIES),
      );
      const page = (await unlessOfAnotherType(read)) ?? [];
      for (const [id, fields] of page) {
        last = id.toString();
        for (let at = 0; at < fields.length; at += 2) {
          const isSized = SIZED_FIELDS.includes(String(fields[at]));
          if (isSized) bytes += fields[at + 1]?.length ?? 0;
        }
      }
      if (page.length < PAGE_ENTRIES) return { last, bytes };
    }
  }

  async release(key: string, packetIdentifiers: readonly number[]): Promise<void> {
    const released: Promise<void>[] = [];
    // Lua unpacks about 8,000 arguments at most.
    for (let at = 0; at < packetIdentifiers.length; at += RELEASED_AT_ONCE) {
      const identifiers = packetIdentifiers.slice(at, at + RELEASED_AT_ONCE).map(String);
      released.push(this.#changes.add([['HDEL', this.#keys.received(key), ...identifiers]]));
    }
    await Promise.all(released);
  }

  async delete(key: string): Promise<void> {
    const [queue, values] = [this.#keys.queue(key), this.#keys.values(key)];
    await this.#changes.add([
      ['DEL', this.#keys.session(key), this.#keys.received(key), queue, values],
      ['SREM', this.#keys.sessions, key],
    ]);
  }

  async #write(changes: readonly Commands[]): Promise<readonly PromiseSettledResult<void>[]> {
    const [first, ...others] = changes.flat();
    try {
      if (first !== undefined) await this.#store.write(first, ...others);
      return changes.map(() => WRITTEN);
    } catch {
      // A key of another type must not stop the other writes.
      const results: PromiseSettledResult<void>[] = [];
      for (const commands of changes) {
        const writing = this.#store.write(...commands);
        results.push(
          await writing.then(
            () => WRITTEN,
            (reason: unknown) => ({ status: 'rejected', reason }),
          ),
        );
      }
      return results;
    }
  }

  /** Reads one session; undefined if its record is unreadable. */
  async #read(key: string): Promise<StoredSessions['sessions'][number] | undefined> {
    // A key of another type is as unreadable as one with wrong fields.
    const [fields, received] = await Promise.all([
      unlessOfAnotherType(this.#store.read((redis) => redis.hgetall(this.#keys.session(key)))),
      unlessOfAnotherType(this.#store.read((redis) => redis.hkeys(this.#keys.received(key)))),
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

function fieldsOf({ owner, subscriptions: all, seenAtMs, expirySeconds }: SessionRecord): string[] {
  const expiry = expirySeconds === undefined ? '' : String(expirySeconds);
  const fields = ['owner', owner, 'subscriptions', JSON.stringify(all)];
  fields.push('seenAtMs', String(seenAtMs), 'expirySeconds', expiry);
  return fields;
}
