import { z } from 'zod';
import { parseJson } from '../domain/notation.js';
import type { InvalidPublishStore, ListedInvalidPublish } from '../ingest/invalid-publishes.js';
import type {
  InvalidPublishList,
  InvalidPublishRecord,
} from '../site/alarms/invalid-publish-list.js';
import type { StoreHeadroom } from '../site/health/store-headroom.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';
import type { Store } from './store.js';

const push = new Script('push-bounded', z.number());

/** More of a payload than anyone reads. The list must not fill the store. */
const MAX_KEPT_PAYLOAD_BYTES = 16 * 1024;
/** Per location: a thousand such payloads in each of ten homes would leave no room for telemetry. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;

const recordSchema = z.object({
  deviceId: z.string(),
  groupId: z.string().nullable().default(null),
  reason: z.string(),
  topic: z.string(),
  base64: z.string(),
  receivedAtMs: z.number(),
});

export interface InvalidPublishStoreOptions {
  /** Waits for a store that is away, as the publishes themselves do. */
  readonly store: Store;
  /** Fails soon when the store is away: somebody waits for the list. */
  readonly management: Store;
  readonly keys: Keys;
  readonly maxPerLocation: number;
  readonly headroom: StoreHeadroom;
}

/** Stores the newest invalid publishes of each location. */
export class InvalidPublishStoreRedis implements InvalidPublishStore, InvalidPublishList {
  readonly #store: Store;
  readonly #management: Store;
  readonly #keys: Keys;
  readonly #maxPerLocation: number;
  readonly #headroom: StoreHeadroom;

  constructor(options: InvalidPublishStoreOptions) {
    this.#store = options.store;
    this.#management = options.management;
    this.#keys = options.keys;
    this.#maxPerLocation = options.maxPerLocation;
    this.#headroom = options.headroom;
  }

  /**
   * Adds invalid publishes, unless their location is gone.
   *
   * A location deleted meanwhile gets no list: it would stay for ever.
   */
  async add(locationId: string, listed: readonly ListedInvalidPublish[]): Promise<void> {
    const newest = listed.slice(-this.#maxPerLocation).map((one) => JSON.stringify(recordOf(one)));
    const bytes = newest.reduce((sum, text) => sum + text.length, 0);
    if (!this.#headroom.takes('invalid-publish', bytes)) return;
    const keys = [this.#keys.rejected(locationId), this.#keys.siteRecords('location')];
    await this.#store
      .run(push, keys, [locationId, this.#maxPerLocation, MAX_LIST_BYTES, ...newest])
      .finally(() => this.#headroom.stored(bytes));
  }

  async list(locationId: string): Promise<InvalidPublishRecord[]> {
    const texts = await answering(() =>
      this.#management.read((redis) => redis.lrange(this.#keys.rejected(locationId), 0, -1)),
    );
    // An unreadable record must not hide the others.
    return texts.flatMap((text) => recordSchema.safeParse(parseJson(text)).data ?? []);
  }
}

function recordOf({ deviceId, groupId, invalidPublish }: ListedInvalidPublish) {
  const { reason, topic, payload, receivedAtMs } = invalidPublish;
  const base64 = payload.subarray(0, MAX_KEPT_PAYLOAD_BYTES).toString('base64');
  const record: InvalidPublishRecord = { deviceId, groupId, reason, topic, base64, receivedAtMs };
  return record;
}
