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
  starts: z.string().transform(parseJson).pipe(z.array(startSchema)),
  trust: z.string().transform(parseJson).pipe(trustSchema),
});
const entriesSchema = z.array(z.tuple([z.string(), z.array(z.string())]));

/** The field with an entry's time by the steady clock. */
const HISTORY_STAMP = 't';

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

  async newestStampMs(): Promise<number | undefined> {
    const stamps = [
      await this.#newestIn(this.#keys.history, HISTORY_STAMP),
      ...(await this.#sessionStamps()),
    ];
    const plausible = stamps.filter((stampMs) => stampMs >= PLAUSIBLE_FROM_MS);
    return plausible.length === 0
      ? undefined
      : plausible.reduce((one, other) => Math.max(one, other));
  }

  async save({ wallMs, steadyMs, starts, trust }: ClockRecord): Promise<void> {
    await this.#writer.write([
      'HSET',
      this.#keys.clock,
      'wallMs',
      String(wallMs),
      'steadyMs',
      String(steadyMs),
      'starts',
      JSON.stringify(starts),
      'trust',
      JSON.stringify(trust),
    ]);
  }

  async #newestIn(stream: string, stamp: string): Promise<number> {
    const reply = await this.#store.read((redis) => redis.xrevrange(stream, '+', '-', 'COUNT', 1));
    const [[, fields] = ['', []]] = entriesSchema.parse(reply);
    const at = fields.findIndex((name, index) => index % 2 === 0 && name === stamp);
    return Number(fields[at + 1]);
  }

  async #sessionStamps(): Promise<number[]> {
    const sessions = await this.#store.read((redis) => redis.smembers(this.#keys.sessions));
    const stamps = await Promise.all(
      sessions.map((session) =>
        this.#store.read((redis) => redis.hget(this.#keys.session(session), 'seenAtMs')),
      ),
    );
    return stamps.map(Number);
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
