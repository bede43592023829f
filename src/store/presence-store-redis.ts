import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { PresenceRecord, PresenceStore } from '../ingest/presence.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const setFieldOfExisting = new Script('set-field-of-existing', z.number());

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

  /** Saves nothing for a device deleted meanwhile: it would stay for ever (FINDINGS R13). */
  async save({ deviceId, lastSeenAtMs, online }: PresenceRecord): Promise<void> {
    const keys = [this.#keys.device(deviceId), this.#keys.lastSeen];
    const text = `${lastSeenAtMs}${online ? '+' : ''}`;
    await setFieldOfExisting.run(this.#redis, keys, [deviceId, text]);
  }
}
