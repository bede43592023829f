import { z } from 'zod';
import {
  type SessionRecord,
  type SessionStore,
  type StoredSessions,
  sessionKey,
} from '../delivery/sessions/session.js';
import { parseJson } from '../domain/json.js';
import { GroupCommit } from './group-commit.js';
import type { Keys } from './keys.js';
import { FIGURES, SUM_FIGURES } from './queues.js';
import { Script } from './scripts.js';
import { type Store, type StoreCommand, unlessOfAnotherType } from './store.js';

const subscriptions = z.array(
  z.object({
    filter: z.string(),
    qos: z.union([z.literal(0), z.literal(1)]),
    isNoLocal: z.literal(true).optional(),
    isRetainAsPublished: z.literal(true).optional(),
    identifier: z.number().optional(),
  }),
);

const record = z.object({
  owner: z.string(),
  subscriptions: z.string().transform(parseJson).pipe(subscriptions),
  seenAtMs: z.coerce.number(),
  /** Empty: the session has none of its own. */
  expirySeconds: z
    .string()
    .optional()
    .transform((text) => (text ? Number(text) : undefined)),
});
const mend = new Script('mend', z.number());
/** How many sessions one round trip reads. */
const PAGE_SESSIONS = 500;
/** How many changes of sessions one call writes. */
const CHANGES_AT_ONCE = 100;
type Commands = readonly StoreCommand[];

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

  mend(session: SessionRecord): Promise<number> {
    const [name, record] = [session.key, fieldsOf(session)];
    return this.#store.run(mend, { name, record, fields: FIGURES, sum: SUM_FIGURES });
  }

  async delete(key: string): Promise<void> {
    await this.#changes.add([
      ['DEL', this.#keys.session(key), this.#keys.queue(key)],
      ['SREM', this.#keys.sessions, key],
    ]);
  }

  async #write(changes: readonly Commands[]): Promise<readonly PromiseSettledResult<void>[]> {
    try {
      await this.#store.write(...changes.flat());
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
    const fields = await unlessOfAnotherType(
      this.#store.read((redis) => redis.hgetall(this.#keys.session(key))),
    );
    const parsed = record.safeParse(fields);
    if (!parsed.success) return undefined;
    const prefix = sessionKey(parsed.data.owner, '');
    if (!key.startsWith(prefix)) return undefined;
    return { key, clientId: key.slice(prefix.length), ...parsed.data };
  }
}

function fieldsOf({ owner, subscriptions: all, seenAtMs, expirySeconds }: SessionRecord): string[] {
  const expiry = expirySeconds === undefined ? '' : String(expirySeconds);
  const fields = ['owner', owner, 'subscriptions', JSON.stringify(all)];
  fields.push('seenAtMs', String(seenAtMs), 'expirySeconds', expiry);
  return fields;
}
