import { z } from 'zod';
import type { PresenceRecord, PresenceStore } from '../../ingest/presence.js';
import type { Keys } from '../keys.js';
import { packRows, Script } from '../scripts.js';
import type { Store } from '../store.js';

const saveTimes = new Script('save-times', z.number());

/** Presence in Redis: one hash, device id → `<milliseconds since 1970>`, `+` while online, the steady time, and its hub. */
export class PresenceStoreRedis implements PresenceStore {
  readonly #store: Store;
  readonly #keys: Keys;

  constructor(store: Store, keys: Keys) {
    this.#store = store;
    this.#keys = keys;
  }

  async load(): Promise<PresenceRecord[]> {
    const seen = await this.#store.read((redis) => redis.hgetall(this.#keys.lastSeen));
    return Object.entries(seen).map(([deviceId, text]) => ({
      deviceId,
      online: text.includes('+'),
      lastSeenAtMs: Number.parseInt(text, 10),
      heardAtMs: steadyTimeIn(text),
      hubId: text.split(' ')[2],
    }));
  }

  /** Saves nothing for a device deleted meanwhile: the entry would stay for ever. */
  async save(records: readonly PresenceRecord[]): Promise<void> {
    if (records.length === 0) return;
    const rows = records.map(
      ({ deviceId, lastSeenAtMs, online, heardAtMs = Number.NaN, hubId }) => [
        deviceId,
        [`${lastSeenAtMs}${online ? '+' : ''}`, Math.round(heardAtMs), hubId].join(' ').trimEnd(),
      ],
    );
    const keys = [this.#keys.lastSeen, this.#keys.siteRecords('device')];
    await this.#store.run(saveTimes, keys, [packRows(rows)]);
  }
}

function steadyTimeIn(text: string): number | undefined {
  const steadyMs = Number(text.split(' ')[1]);
  return Number.isFinite(steadyMs) ? steadyMs : undefined;
}
