import { z } from 'zod';
import { parseJson } from '../../domain/notation.js';
import type { SilentDevice, SupervisionStore } from '../../watch/supervision.js';
import { unlessOfAnotherType } from '../failures.js';
import type { Keys } from '../keys.js';
import type { Store } from '../store.js';

const recordSchema = z.object({
  state: z.enum(['silent', 'heard']),
  sinceMs: z.number(),
  lastSeenAtMs: z.number(),
});

/** What supervision has reported about devices, in Redis: one hash, written by append-events.lua. */
export class SupervisionStoreRedis implements SupervisionStore {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async silent(): Promise<SilentDevice[]> {
    const key = this.#keys.supervision;
    const stored = await unlessOfAnotherType(this.#store.read((redis) => redis.hgetall(key)));
    return Object.entries(stored ?? {}).flatMap(([deviceId, text]) => {
      const record = recordSchema.safeParse(parseJson(text)).data;
      if (record?.state !== 'silent') return [];
      return [{ deviceId, sinceMs: record.sinceMs, lastSeenAtMs: record.lastSeenAtMs }];
    });
  }
}
