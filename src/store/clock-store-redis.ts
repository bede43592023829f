import type { Logger } from 'pino';
import { z } from 'zod';
import { PLAUSIBLE_FROM_MS } from '../domain/notation.js';
import type { ClockRecord, ClockStore } from '../site/clock/clock-store.js';
import type { Keys } from './keys.js';
import type { Store } from './store.js';

const readingSchema = z.object({ wallMs: z.number(), steadyMs: z.number() });
const startSchema = z.object({ steadyMs: z.number(), downtimeMs: z.number() });
const trustSchema = z.object({
  seen: readingSchema.optional(),
  isConfirmed: z.boolean(),
  unchangedSinceMs: z.number(),
});

const recordSchema = z.object({
  wallMs: z.coerce.number(),
  steadyMs: z.coerce.number().min(PLAUSIBLE_FROM_MS),
  addedMs: z.coerce.number().default(0),
  starts: z.string().transform(parseJson).pipe(z.array(startSchema)),
  trust: z.string().transform(parseJson).pipe(trustSchema),
});

/** The steady clock in Redis: one hash. */
export class ClockStoreRedis implements ClockStore {
  readonly #store: Store;
  readonly #writer: Store;
  readonly #keys: Keys;
  readonly #log: Logger;

  /**
   * Saves must not wait for the store: on a full disk, a waiting save would end it again after each restart.
   *
   * @param store waits for the store
   * @param writer fails soon and never retries
   */
  constructor(store: Store, writer: Store, keys: Keys, log: Logger) {
    this.#store = store;
    this.#writer = writer;
    this.#keys = keys;
    this.#log = log;
  }

  async load(): Promise<ClockRecord | undefined> {
    const fields = await this.#store.read((redis) => redis.hgetall(this.#keys.clock));
    if (Object.keys(fields).length === 0) return undefined;
    const record = recordSchema.safeParse(fields);
    if (!record.success) this.#log.error({ err: record.error }, 'failed to read the stored clock');
    return record.data;
  }

  async save({ wallMs, steadyMs, addedMs, starts, trust }: ClockRecord): Promise<void> {
    await this.#writer.write([
      'HSET',
      this.#keys.clock,
      'wallMs',
      String(wallMs),
      'steadyMs',
      String(steadyMs),
      'addedMs',
      String(addedMs),
      'starts',
      JSON.stringify(starts),
      'trust',
      JSON.stringify(trust),
    ]);
  }
}

function parseJson(text: string, context: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'no JSON' });
    return z.NEVER;
  }
}
