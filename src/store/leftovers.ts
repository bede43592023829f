import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { SiteModel } from '../site/site-model.js';
import type { Keys } from './keys.js';
import { scannedKeys } from './scan.js';

/** Sets that earlier versions kept beside the records: the members of locations, groups and rooms. */
const FORMER_SET = /^(location|group|room)-(groups|rooms|devices):/;
const REJECTED = /^rejected:(.*)$/;
/** Matches the names of these keys, and few others: they begin with `rejected:`, or as one of the sets. */
const PATTERN = '[lgr][ore]*:*';

/**
 * Removes what earlier versions left (FINDINGS R13).
 *
 * That is sets of members, and of deleted locations and devices the list of invalid publishes, and when a
 * device was last seen.
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

  /** Spares what belongs to unreadable records, as somebody may restore them. */
  async remove(model: SiteModel): Promise<void> {
    const { sitePrefix, lastSeen } = this.#keys;
    const isGone = (kind: 'location' | 'device', id: string) =>
      model[kind](id) === undefined && !model.isUnreadable(`${kind}:${id}`);
    let keys = 0;
    for await (const page of scannedKeys(this.#redis, sitePrefix + PATTERN)) {
      const leftover = page.filter((key) => {
        const name = key.slice(sitePrefix.length);
        const locationId = REJECTED.exec(name)?.[1];
        return locationId === undefined ? FORMER_SET.test(name) : isGone('location', locationId);
      });
      keys += leftover.length;
      if (leftover.length > 0) await this.#redis.unlink(...leftover);
    }
    const seen = await this.#redis.hkeys(lastSeen);
    const devices = seen.filter((id) => isGone('device', id));
    if (devices.length > 0) await this.#redis.hdel(lastSeen, ...devices);
    if (keys + devices.length === 0) return;
    this.#log.info({ keys, lastSeen: devices.length }, 'removed leftovers of an earlier version');
  }
}
