import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { SiteModel } from '../site/site-model.js';
import type { Keys } from './keys.js';
import { Script } from './scripts.js';

const removeLeftovers = new Script('remove-leftovers', z.tuple([z.number(), z.number()]));

/** Keys per call, as in the scan of the site's records (site-loader.ts). */
const KEYS_A_SCAN = 5_000;

/**
 * Removes leftovers of deleted locations and devices (FINDINGS R13).
 *
 * Earlier versions left the list of invalid publishes, and when a device was last seen.
 */
export class Leftovers {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #log: Logger;

  constructor(redis: Redis, keys: Keys, log: Logger) {
    this.#redis = redis;
    this.#keys = keys;
    this.#log = log;
  }

  async remove(model: SiteModel): Promise<void> {
    const keys = this.#keys;
    const rejected = await this.#rejected();
    const seen = await this.#redis.hkeys(keys.lastSeen);
    const locationIds = rejected.filter((id) => model.location(id) === undefined);
    const deviceIds = seen.filter((id) => model.device(id) === undefined);
    if (locationIds.length === 0 && deviceIds.length === 0) return;
    const prefixes = {
      location: keys.location(''),
      rejected: keys.rejected(''),
      device: keys.device(''),
    };
    const text = JSON.stringify({ ...prefixes, locationIds, deviceIds });
    const hashes = [keys.locations, keys.devices, keys.lastSeen];
    const [lists, devices] = await removeLeftovers.run(this.#redis, hashes, [text]);
    this.#log.info(
      { rejectedLists: lists, lastSeen: devices },
      'removed leftovers of deleted locations and devices',
    );
  }

  /** Finds the ids of locations that have a list of invalid publishes. */
  async #rejected(): Promise<string[]> {
    const prefix = this.#keys.rejected('');
    const ids = new Set<string>();
    let cursor = '0';
    do {
      const page = await this.#redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', KEYS_A_SCAN);
      cursor = page[0];
      for (const key of page[1]) ids.add(key.slice(prefix.length));
    } while (cursor !== '0');
    return [...ids];
  }
}
