import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Announcement, PresenceRecord, PresenceStore } from '../ingest/presence.js';
import type { Keys } from './keys.js';
import { retainedValue } from './retained-value.js';
import { packRows, Script } from './scripts.js';

const savePresence = new Script('save-presence', z.number());

/** The name that aedes-persistence-redis gives the hash, behind the prefix of its connection. */
const RETAINED = 'retained';

/** Presence in Redis: one hash, device id → `<milliseconds since 1970>` and `+` while online. */
export class PresenceStoreRedis implements PresenceStore {
  readonly #redis: Redis;
  readonly #broker: Redis;
  readonly #keys: Keys;

  /**
   * @param broker the connection of aedes-persistence-redis: what is written on it comes before what
   *   the library is asked for later, as to forget a device's retained messages
   */
  constructor(redis: Redis, broker: Redis, keys: Keys) {
    this.#redis = redis;
    this.#broker = broker;
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
  async save(announcements: readonly Announcement[]): Promise<void> {
    if (announcements.length === 0) return;
    const rows = announcements.map(({ deviceId, lastSeenAtMs, online, status }) => [
      ...[deviceId, `${lastSeenAtMs}${online ? '+' : ''}`],
      ...[status.topic, retainedValue(status)],
    ]);
    const args = [this.#keys.record('device', ''), this.#keys.lastSeen, packRows(rows)];
    await savePresence.run(this.#broker, [RETAINED], args);
  }
}
