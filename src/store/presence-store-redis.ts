import type { Redis } from 'ioredis';
import type { PresenceRecord, PresenceStore } from '../ingest/presence.js';
import type { Keys } from './keys.js';

/** Presence in Redis: one hash, device id → `<milliseconds since 1970>` and `+` while online. */
export class PresenceStoreRedis implements PresenceStore {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async load(): Promise<PresenceRecord[]> {
    const seen = await this.#redis.hgetall(this.#keys.lastSeen);
    return Object.entries(seen).map(([deviceId, text]) => ({
      deviceId,
      online: text.endsWith('+'),
      lastSeenAtMs: Number.parseInt(text, 10),
    }));
  }

  async save(record: PresenceRecord): Promise<void> {
    const text = `${record.lastSeenAtMs}${record.online ? '+' : ''}`;
    await this.#redis.hset(this.#keys.lastSeen, record.deviceId, text);
  }
}
