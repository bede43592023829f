import { z } from 'zod';
import type { TokenUseStore } from '../../site/access/token-use.js';
import { unlessOfAnotherType } from '../failures.js';
import type { Keys } from '../keys.js';
import { packRows, Script } from '../scripts.js';
import type { Store } from '../store.js';

const saveTimes = new Script('save-times', z.number());

/** When access tokens were last used, in Redis: one hash, id → milliseconds since 1970. */
export class TokenUseStoreRedis implements TokenUseStore {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async load(): Promise<Map<string, number>> {
    const key = this.#keys.tokenUse;
    const stored = await unlessOfAnotherType(this.#store.read((redis) => redis.hgetall(key)));
    const times = Object.entries(stored ?? {}).map(([id, text]) => [id, Number(text)] as const);
    return new Map(times.filter(([, atMs]) => Number.isSafeInteger(atMs)));
  }

  /** Saves nothing for a token deleted meanwhile: the entry would stay for ever. */
  async save(usedAtMs: ReadonlyMap<string, number>): Promise<void> {
    const rows = Array.from(usedAtMs, ([id, atMs]) => [id, String(atMs)]);
    const keys = [this.#keys.tokenUse, this.#keys.siteRecords('access-token')];
    await this.#store.run(saveTimes, keys, [packRows(rows)]);
  }
}
