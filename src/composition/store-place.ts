import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { StoreConfig, StoreTlsConfig } from '../config/store-schema.js';
import type { Releasers } from '../releasers.js';
import type { Keys } from '../store/keys.js';
import { ClusterRoute } from '../store/pair/cluster-route.js';
import { Failovers, type SentinelPlace } from '../store/pair/failovers.js';
import type { ConnectionOptions, StorePlace } from '../store/server/connection.js';
import type { StoreAccess, StoreTls } from '../store/server/store-access.js';
import { StoreOutages } from '../store/server/store-outages.js';

/** How to reach the store, for any connection to it. */
export type StoreAddress = Omit<ConnectionOptions, 'name'>;

/** @param socketPath the socket of the gateway's own store */
export function addressOfStore(
  redis: StoreConfig,
  keys: Keys,
  { log, releasers }: { readonly log: Logger; readonly releasers: Releasers },
  socketPath?: string,
): StoreAddress {
  const outages = new StoreOutages(log);
  if (socketPath !== undefined) return { socketPath, log, outages };
  const { failovers, ...place } = placeOfStore(redis, keys, log);
  failovers?.start();
  releasers.add(() => failovers?.stop());
  return { ...place, failovers, log, outages };
}

function placeOfStore(redis: StoreConfig, keys: Keys, log: Logger): StorePlace {
  const { url, cluster } = redis;
  const access = accessOf(redis.user, redis.password, redis.tls);
  if (url !== undefined) return { url, access };
  if (cluster !== undefined) {
    return { cluster: new ClusterRoute(cluster, access, keys.sitePrefix), access };
  }
  const sentinels = sentinelsOf(redis);
  return { failovers: sentinels && new Failovers(sentinels, log), access };
}

/** The configured Sentinels; undefined if nobody chooses a primary. */
export function sentinelsOf(redis: StoreConfig): SentinelPlace | undefined {
  const { sentinels, name = '' } = redis;
  if (sentinels === undefined) return undefined;
  const access = accessOf(redis.sentinelUser, redis.sentinelPassword, redis.sentinelTls);
  return { sentinels, name, access };
}

/** Reads the certificates and combines them with the credentials. */
function accessOf(
  user: string | undefined,
  password: string | undefined,
  tls: StoreTlsConfig | undefined,
): StoreAccess {
  return { user, password, tls: tls && readTls(tls) };
}

function readTls({ caFile, certFile, keyFile }: StoreTlsConfig): StoreTls {
  return {
    ...(caFile !== undefined && { ca: readFileSync(caFile) }),
    ...(certFile !== undefined && { cert: readFileSync(certFile) }),
    ...(keyFile !== undefined && { key: readFileSync(keyFile) }),
  };
}
