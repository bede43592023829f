import { z } from 'zod';
import { parseJson } from '../domain/notation.js';
import type { DeadLetter, DeadLetterStore } from '../site/bridge-list.js';
import { answering } from './failures.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';
import type { Store } from './store.js';

const push = new Script('push-bounded', z.number());

/** People read dead letters one by one: more would only fill the store. */
const MAX_PER_BRIDGE = 1_000;
/** A thousand of the largest letters would leave no room for alarms. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;

const letterSchema = z
  .object({ atMs: z.number(), topic: z.string(), reason: z.string(), base64: z.base64() })
  .transform(({ base64, ...letter }) => ({ ...letter, payload: Buffer.from(base64, 'base64') }));

/** Keeps the newest dead letters of each bridge in a list. */
export class DeadLetterStoreRedis implements DeadLetterStore {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async add(bridge: string, { payload, ...letter }: DeadLetter): Promise<void> {
    const key = this.#keys.deadLetters(bridge);
    const text = JSON.stringify({ ...letter, base64: payload.toString('base64') });
    await answering(() => this.#store.run(push, [key], ['', MAX_PER_BRIDGE, MAX_LIST_BYTES, text]));
  }

  async list(bridge: string): Promise<DeadLetter[]> {
    const texts = await answering(() =>
      this.#store.read((redis) => redis.lrange(this.#keys.deadLetters(bridge), 0, -1)),
    );
    // An unreadable letter must not hide the others.
    return texts.flatMap((text) => letterSchema.safeParse(parseJson(text)).data ?? []);
  }

  async oldest(bridge: string) {
    const key = this.#keys.deadLetters(bridge);
    for (;;) {
      const [text] = await answering(() => this.#store.read((redis) => redis.lrange(key, -1, -1)));
      if (text === undefined) return undefined;
      // By its text: a new dead letter may have pushed it out meanwhile, and another is the oldest.
      const remove = async () => {
        await answering(() => this.#store.write(['LREM', key, '-1', text]));
      };
      const letter = letterSchema.safeParse(parseJson(text)).data;
      if (letter !== undefined) return { letter, remove };
      await remove();
    }
  }

  async clear(bridge: string): Promise<void> {
    await answering(() => this.#store.write(['DEL', this.#keys.deadLetters(bridge)]));
  }
}
