import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Config } from '../config/schema.js';
import type { StoreConfig, StoreTlsConfig } from '../config/store-schema.js';
import type { Releasers } from '../releasers.js';
import type { Keys } from '../store/keys.js';
import { clusterSource } from '../store/pair/cluster-source.js';
import { type PrimarySource, PrimaryWatch } from '../store/pair/primary-watch.js';
import { sentinelSource } from '../store/pair/sentinels.js';
import type { ConnectionOptions, StorePlace } from '../store/server/connection.js';
import type { StoreAccess, StoreTls } from '../store/server/store-access.js';
import { StoreOutages } from '../store/server/store-outages.js';

export interface StorePlaceOptions {
  readonly redis: StoreConfig;
  readonly keys: Keys;
  readonly log: Logger;
  readonly releasers: Releasers;
}

/** How to reach the store, for any connection to it. */
export type StoreAddress = Omit<ConnectionOptions, 'name'>;

/** @param socketPath the socket of the gateway's own store */
export function addressOfStore({
  config,
  socketPath,
  ...options
}: Omit<StorePlaceOptions, 'redis'> & {
  readonly config: Config;
  readonly socketPath?: string | undefined;
}): StoreAddress {
  const { log } = options;
  const outages = new StoreOutages(log);
  if (socketPath !== undefined) return { socketPath, log, outages };
  return { ...placeOfStore({ ...options, redis: config.redis }), log, outages };
}

/** Finds an external store, and starts watching which server is its primary. */
export function placeOfStore({ redis, keys, log, releasers }: StorePlaceOptions): StorePlace {
  const { url } = redis;
  const access = accessOf(redis.user, redis.password, redis.tls);
  if (url !== undefined) return { url, access };
  const primary = new PrimaryWatch(sourceOf(redis, access, keys), log);
  primary.start();
  releasers.add(() => primary.stop());
  return { primary, access };
}

function sourceOf(redis: StoreConfig, access: StoreAccess, keys: Keys): PrimarySource {
  const { sentinels = [], name = '', cluster } = redis;
  if (cluster !== undefined) return clusterSource({ nodes: cluster, access, key: keys.absent });
  const own = accessOf(redis.sentinelUser, redis.sentinelPassword, redis.sentinelTls);
  return sentinelSource({ sentinels, name, access: own });
}

/** Reads the certificates and combines them with the credentials. */
export function accessOf(
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
