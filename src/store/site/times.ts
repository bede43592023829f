/** When devices were last heard, and access tokens last used: a hash of Redis for each. */
import type { PresenceRecord, PresenceStore } from '../../ingest/presence.js';
import type { TokenUseStore } from '../../site/access/token-use.js';
import { unlessOfAnotherType } from '../failures.js';
import type { Keys } from '../keys.js';
import type { Store } from '../store.js';

/** Names and values. Lua unpacks about 8,000 arguments at most. */
const FIELDS_AT_ONCE = 2_000;

/** Device id → `<milliseconds since 1970>`, `+` while online, the steady time, and its hub. */
export class PresenceStoreRedis implements PresenceStore {
  readonly #store: Store;
  readonly #key: string;

  constructor(store: Store, { lastSeen }: Keys) {
    this.#store = store;
    this.#key = lastSeen;
  }

  async load(): Promise<PresenceRecord[]> {
    return (await fieldsOf(this.#store, this.#key)).map(([deviceId, text]) => ({
      deviceId,
      online: text.includes('+'),
      lastSeenAtMs: Number.parseInt(text, 10),
      heardAtMs: steadyTimeIn(text),
      hubId: text.split(' ')[2],
    }));
  }

  async save(records: readonly PresenceRecord[]): Promise<void> {
    const fields = records.flatMap(({ deviceId, lastSeenAtMs, online, heardAtMs, hubId }) => {
      const heard = Math.round(heardAtMs ?? Number.NaN);
      return [deviceId, [`${lastSeenAtMs}${online ? '+' : ''}`, heard, hubId].join(' ').trimEnd()];
    });
    await saveFields(this.#store, this.#key, fields);
  }
}

/** Id → milliseconds since 1970. */
export class TokenUseStoreRedis implements TokenUseStore {
  readonly #store: Store;
  readonly #key: string;

  constructor(store: Store, { tokenUse }: Keys) {
    this.#store = store;
    this.#key = tokenUse;
  }

  async load(): Promise<Map<string, number>> {
    const fields = await fieldsOf(this.#store, this.#key);
    const times = fields.map(([id, text]) => [id, Number(text)] as const);
    return new Map(times.filter(([, atMs]) => Number.isSafeInteger(atMs)));
  }

  async save(usedAtMs: ReadonlyMap<string, number>): Promise<void> {
    const fields = [...usedAtMs].flatMap(([id, atMs]) => [id, String(atMs)]);
    await saveFields(this.#store, this.#key, fields);
  }
}

function steadyTimeIn(text: string): number | undefined {
  const steadyMs = Number(text.split(' ')[1]);
  return Number.isFinite(steadyMs) ? steadyMs : undefined;
}

/** Nothing if somebody has overwritten the key: it must not stop the start. */
async function fieldsOf(store: Store, key: string): Promise<[string, string][]> {
  const stored = await unlessOfAnotherType(store.read((redis) => redis.hgetall(key)));
  return Object.entries(stored ?? {});
}

/** A device or token deleted in this moment leaves a field of some 60 bytes. */
async function saveFields(store: Store, key: string, fields: readonly string[]): Promise<void> {
  for (let at = 0; at < fields.length; at += FIELDS_AT_ONCE) {
    await store.write(['HSET', key, ...fields.slice(at, at + FIELDS_AT_ONCE)]);
  }
}
