import { z } from 'zod';
import { parseJson } from '../../domain/notation.js';
import { DESTINATION_TYPES } from '../../site/alarms/destinations.js';
import { type DrillRecord, type DrillStore, MAX_DRILLS_SHOWN } from '../../site/alarms/drills.js';
import { answering } from '../failures.js';
import type { Keys } from '../keys.js';
import { Script } from '../scripts.js';
import type { Store } from '../store.js';

const push = new Script('push-bounded', z.number());
/** Each is stored twice: when it begins, and with its results. */
const MAX_KEPT = 2 * MAX_DRILLS_SHOWN;
const MAX_LIST_BYTES = 4 * 1024 * 1024;

const namedSchema = z.object({ id: z.string(), name: z.string() });
const recordSchema = z.object({
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
});

/** The newest drills of each location, in Redis: one list per location. */
export class DrillStoreRedis implements DrillStore {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async add(locationId: string, record: DrillRecord): Promise<void> {
    const keys = [this.#keys.drills(locationId), this.#keys.siteRecords('location')];
    const args = [locationId, MAX_KEPT, MAX_LIST_BYTES, JSON.stringify(record)];
    await answering(() => this.#store.run(push, keys, args));
  }

  async newest(locationId: string, count: number): Promise<DrillRecord[]> {
    const key = this.#keys.drills(locationId);
    const texts = await answering(() => this.#store.read((redis) => redis.lrange(key, 0, -1)));
    const records = new Map<string, DrillRecord>();
    // From the oldest on: a drill keeps the place of its beginning, and its results replace it there.
    for (const text of texts.reverse()) {
      const record = recordSchema.safeParse(parseJson(text)).data;
      if (record !== undefined) records.set(record.id, record);
    }
    return [...records.values()].reverse().slice(0, count);
  }
}
