import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Rejection } from '../domain/messages.js';
import type { RejectionPlace, RejectionStore } from '../ingest/invalid-publishes.js';
import type { RejectionList, RejectionRecord } from '../site/rejection-list.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const pushOfExisting = new Script('push-of-existing', z.number());

/** More of a refused payload than anyone reads; the list must not fill the store. */
const MAX_KEPT_PAYLOAD_BYTES = 16 * 1024;

const recordSchema = z.object({
  deviceId: z.string(),
  groupId: z.string().nullable().default(null),
  reason: z.string(),
  topic: z.string(),
  base64: z.string(),
  receivedAtMs: z.number(),
});

/** The newest rejected publishes of each location. */
export class RejectionStoreRedis implements RejectionStore, RejectionList {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #maxPerLocation: number;

  constructor(redis: Redis, keys: Keys, maxPerLocation: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#maxPerLocation = maxPerLocation;
  }

  /** Nothing for a location that was deleted meanwhile: its list would stay for ever (FINDINGS R13). */
  async add(
    { locationId, groupId }: RejectionPlace,
    deviceId: string,
    rejection: Rejection,
  ): Promise<void> {
    const { reason, topic, payload, receivedAtMs } = rejection;
    const base64 = payload.subarray(0, MAX_KEPT_PAYLOAD_BYTES).toString('base64');
    const record: RejectionRecord = { deviceId, groupId, reason, topic, base64, receivedAtMs };
    const keys = [this.#keys.location(locationId), this.#keys.rejected(locationId)];
    await pushOfExisting.run(this.#redis, keys, [JSON.stringify(record), this.#maxPerLocation]);
  }

  async list(locationId: string): Promise<RejectionRecord[]> {
    const texts = await answering(() => this.#redis.lrange(this.#keys.rejected(locationId), 0, -1));
    return texts.map((text) => recordSchema.parse(JSON.parse(text)));
  }
}
