import type { StoreConfig } from '../config/store-schema.js';
import type { Releasers } from '../releasers.js';
import type { Keys } from '../store/keys.js';
import { Informant } from '../store/pair/informant.js';
import { type Majority, Replicas } from '../store/pair/replicas.js';
import { SentinelMajority } from '../store/pair/sentinel-majority.js';
import type { Foundation } from './foundation.js';
import { accessOf } from './store-place.js';

/** The replicas that must confirm writes before they are acknowledged; undefined if none must. */
export function openReplicas(
  { config, health, log, elapsed, releasers }: Foundation,
  keys: Keys,
): Replicas | undefined {
  const { replicas: count, withoutReplica } = config.redis;
  if (count === 0) return undefined;
  const majority = majorityOf(config.redis, releasers);
  return new Replicas({
    count,
    withoutReplica,
    majority,
    health,
    log,
    elapsed,
    markKey: keys.replicaMark,
  });
}

/** The Sentinels, which can tell whether another server has become the primary. */
function majorityOf(redis: StoreConfig, releasers: Releasers): Majority | undefined {
  const { sentinels, name = '' } = redis;
  if (sentinels === undefined) return undefined;
  const access = accessOf(redis.sentinelUser, redis.sentinelPassword, redis.sentinelTls);
  const informants = sentinels.map((address) => new Informant(address, access));
  releasers.add(() => {
    for (const informant of informants) informant.stop();
  });
  return new SentinelMajority(informants, name);
}
