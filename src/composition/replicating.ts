import type { Keys } from '../store/keys.js';
import { Replicas } from '../store/pair/replicas.js';
import { SentinelMajority } from '../store/pair/sentinel-majority.js';
import type { Foundation } from './foundation.js';
import { sentinelsOf } from './store-place.js';

/** The replicas that must confirm writes before they are acknowledged; undefined if none must. */
export function openReplicas(
  { config, health, log, elapsed }: Foundation,
  keys: Keys,
): Replicas | undefined {
  const { replicas: count, withoutReplica } = config.redis;
  if (count === 0) return undefined;
  const sentinels = sentinelsOf(config.redis);
  const majority = sentinels && new SentinelMajority(sentinels);
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
