import type { Redis } from 'ioredis';
import type { Keys } from './keys.js';
import { scannedKeys } from './scan.js';

/** Sets that version 1 kept beside the records: the members of locations, groups and rooms. */
const FORMER_SET = /^(location|group|room)-(groups|rooms|devices):/;
const REJECTED = /^rejected:(.*)$/;
/** Matches the names of these keys, and few others: they begin with `rejected:`, or as one of the sets. */
const PATTERN = '[lgr][ore]*:*';

/**
 * Removes what version 1 left; returns how much.
 *
 * That is sets of members, and of deleted locations and devices the list of invalid publishes, and when a
 * device was last seen. What belongs to a missing or unreadable record stays, as somebody may restore it.
 */
export async function removeLeftovers(redis: Redis, keys: Keys): Promise<number> {
  const goneOf = async (kind: 'location' | 'device', ids: readonly string[]) => {
    const set = keys.idsOf(kind);
    // The load of the site restores one that is no set.
    const known = new Set((await redis.type(set)) === 'set' ? await redis.smembers(set) : []);
    const records = await Promise.all(ids.map((id) => redis.exists(keys.record(kind, id))));
    return ids.filter((id, at) => !known.has(id) && records[at] === 0);
  };
  let total = 0;
  for await (const page of scannedKeys(redis, keys.sitePrefix + PATTERN)) {
    const names = page.map((key) => key.slice(keys.sitePrefix.length));
    const sets = names
      .filter((name) => FORMER_SET.test(name))
      .map((name) => keys.sitePrefix + name);
    const locations = names.flatMap((name) => REJECTED.exec(name)?.[1] ?? []);
    const lists = (await goneOf('location', locations)).map((id) => keys.rejected(id));
    const leftover = [...sets, ...lists];
    total += leftover.length;
    if (leftover.length > 0) await redis.unlink(...leftover);
  }
  const devices = await goneOf('device', await redis.hkeys(keys.lastSeen));
  if (devices.length > 0) await redis.hdel(keys.lastSeen, ...devices);
  return total + devices.length;
}
