/** Lists of the newest of something, cut to a length and to bytes: drills, dead letters, invalid publishes. */
import { z } from 'zod';
import { parseJson } from '../domain/json.js';
import { formatTime } from '../domain/time.js';
import type { ListedInvalidPublish } from '../ingest/invalid-publishes.js';
import type { StoreHeadroom } from '../site/health/store-headroom.js';
import { DESTINATION_TYPES } from '../site/tokens.js';
import { type DrillRecord, MAX_DRILLS_SHOWN } from '../watch/drills.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';
import type { Store } from './store.js';
import { answering } from './store.js';

const push = new Script('push', z.number());
const MIB = 1024 * 1024;

interface Bounds<T> {
  readonly schema: z.ZodType<T>;
  readonly maxLength: number;
  readonly maxBytes: number;
}

/** Values as JSON in a list of Redis, the newest first. Unreadable ones are left out: they must not hide the others. */
class BoundedList<T> {
  readonly #bounds: Bounds<T>;

  constructor(bounds: Bounds<T>) {
    this.#bounds = bounds;
  }

  /**
   * Adds values, of which the last comes first in the list.
   *
   * @param owner the hash and the id of a record without which nothing is written: the list would stay for ever
   */
  async add(
    store: Store,
    key: string,
    values: readonly unknown[],
    owner?: readonly [hash: string, id: string],
  ): Promise<void> {
    const { maxLength, maxBytes } = this.#bounds;
    const texts = values.slice(-maxLength).map((value) => JSON.stringify(value));
    await store.run(push, {
      list: key,
      values: texts,
      owner: owner === undefined ? false : [...owner],
      maxLength,
      maxBytes,
    });
  }

  async read(store: Store, key: string): Promise<T[]> {
    const texts = await answering(() => store.read((redis) => redis.lrange(key, 0, -1)));
    return texts.flatMap((text) => this.parse(text) ?? []);
  }

  parse(text: string): T | undefined {
    return this.#bounds.schema.safeParse(parseJson(text)).data;
  }
}

const namedSchema = z.object({ id: z.string(), name: z.string() });
const DRILLS = new BoundedList({
  schema: z.object({
    id: z.string(),
    atMs: z.number(),
    steadyAtMs: z.number().optional(),
    by: namedSchema.nullable(),
    alarmId: z.string(),
    device: namedSchema,
    silent: z.array(namedSchema),
    results: z
      .array(
        z.object({
          destination: namedSchema.extend({ type: z.enum(DESTINATION_TYPES) }),
          acknowledgedAfterMs: z.number().optional(),
        }),
      )
      .optional(),
  }),
  // Each is stored twice: when it begins, and with its results.
  maxLength: 2 * MAX_DRILLS_SHOWN,
  maxBytes: 4 * MIB,
});

/** The newest drills of each location. */
export class DrillStoreRedis {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Stores a drill, or its results. */
  async add(locationId: string, record: DrillRecord): Promise<void> {
    const owner = [this.#keys.siteRecords('location'), locationId] as const;
    const key = this.#keys.drills(locationId);
    await answering(() => DRILLS.add(this.#store, key, [record], owner));
  }

  /** The newest first. */
  async newest(locationId: string, count: number): Promise<DrillRecord[]> {
    const read = await DRILLS.read(this.#store, this.#keys.drills(locationId));
    // From the oldest on: a drill keeps the place of its beginning, and its results replace it there.
    const records = new Map(read.reverse().map((record) => [record.id, record]));
    return [...records.values()].reverse().slice(0, count);
  }
}

/** A message that an upstream or receiver never takes. */
export interface DeadLetter {
  readonly atMs: number;
  /** The forwarded topic. */
  readonly topic: string;
  /** Why, for example `Packet too large`. */
  readonly reason: string;
  readonly payload: Buffer;
}

const LETTERS = new BoundedList({
  schema: z
    .object({ atMs: z.number(), topic: z.string(), reason: z.string(), base64: z.base64() })
    .transform(({ base64, ...letter }) => ({ ...letter, payload: Buffer.from(base64, 'base64') })),
  // People read dead letters one by one: more would only fill the store.
  maxLength: 1_000,
  // A thousand of the largest letters would leave no room for alarms.
  maxBytes: 16 * MIB,
});

/** The newest dead letters of each bridge and output. @throws GatewayError `store-unavailable` whatever it does */
export class DeadLetterStoreRedis {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async add(bridge: string, { payload, ...letter }: DeadLetter): Promise<void> {
    const stored = { ...letter, base64: payload.toString('base64') };
    await answering(() => LETTERS.add(this.#store, this.#keys.deadLetters(bridge), [stored]));
  }

  /** As they are shown, the newest first. */
  async list(bridge: string) {
    const letters = await LETTERS.read(this.#store, this.#keys.deadLetters(bridge));
    return letters.map(({ atMs, topic, reason, payload }) => {
      return { at: formatTime(atMs), topic, reason, base64: payload.toString('base64') };
    });
  }

  /** The oldest readable one, and what removes it; undefined when there is none. */
  async oldest(bridge: string) {
    const key = this.#keys.deadLetters(bridge);
    for (;;) {
      const [text] = await answering(() => this.#store.read((redis) => redis.lrange(key, -1, -1)));
      if (text === undefined) return undefined;
      // By its text: a new dead letter may have pushed it out meanwhile, and another is the oldest.
      const remove = async () => {
        await answering(() => this.#store.write(['LREM', key, '-1', text]));
      };
      const letter = LETTERS.parse(text);
      if (letter !== undefined) return { letter, remove };
      await remove();
    }
  }

  /** Deletes the dead letters of a deleted bridge. */
  async clear(bridge: string): Promise<void> {
    await answering(() => this.#store.write(['DEL', this.#keys.deadLetters(bridge)]));
  }
}

/** More of a payload than anyone reads. The list must not fill the store. */
const MAX_KEPT_PAYLOAD_BYTES = 16 * 1024;
const invalidPublishSchema = z.object({
  deviceId: z.string(),
  /** The group that the device was in. */
  groupId: z.string().nullable().default(null),
  reason: z.string(),
  topic: z.string(),
  /** The payload, or as much of it as is kept. */
  base64: z.string(),
  receivedAtMs: z.number(),
});

export type InvalidPublishRecord = Readonly<z.infer<typeof invalidPublishSchema>>;

export interface InvalidPublishStoreOptions {
  /** Waits for a store that is away, as the publishes themselves do. */
  readonly store: Store;
  /** Fails soon when the store is away: somebody waits for the list. */
  readonly management: Store;
  readonly keys: Keys;
  readonly maxPerLocation: number;
  readonly headroom: StoreHeadroom;
}

/** The newest invalid publishes of each location. */
export class InvalidPublishStoreRedis {
  readonly #options: InvalidPublishStoreOptions;
  readonly #list: BoundedList<InvalidPublishRecord>;

  constructor(options: InvalidPublishStoreOptions) {
    this.#options = options;
    this.#list = new BoundedList({
      schema: invalidPublishSchema,
      maxLength: options.maxPerLocation,
      // A thousand of the largest payloads in each of ten homes would leave no room for telemetry.
      maxBytes: 4 * MIB,
    });
  }

  /** Adds invalid publishes, unless their location is gone. */
  async add(locationId: string, listed: readonly ListedInvalidPublish[]): Promise<void> {
    const { store, keys, headroom, maxPerLocation } = this.#options;
    const newest = listed.slice(-maxPerLocation).map(recordOf);
    const bytes = newest.reduce((sum, { base64 }) => sum + base64.length, 0);
    if (!headroom.takes('invalid-publish', bytes)) return;
    const owner = [keys.siteRecords('location'), locationId] as const;
    await this.#list.add(store, keys.rejected(locationId), newest, owner);
  }

  /** The newest first. @throws GatewayError `store-unavailable` */
  list(locationId: string): Promise<InvalidPublishRecord[]> {
    const { management, keys } = this.#options;
    return this.#list.read(management, keys.rejected(locationId));
  }
}

function recordOf({
  deviceId,
  groupId,
  invalidPublish,
}: ListedInvalidPublish): InvalidPublishRecord {
  const { reason, topic, payload, receivedAtMs } = invalidPublish;
  const base64 = payload.subarray(0, MAX_KEPT_PAYLOAD_BYTES).toString('base64');
  return { deviceId, groupId, reason, topic, base64, receivedAtMs };
}
