import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import { GatewayError } from '../../errors.js';
import { followPrimary, isElsewhere } from '../pair/follow-primary.js';
import { primaryConnector } from '../pair/primary-connector.js';
import type { PrimaryWatch } from '../pair/primary-watch.js';
import { breakOnTimeout, watchSilence } from './silence.js';
import type { StoreAccess } from './store-access.js';
import type { StoreOutages } from './store-outages.js';

const RETRY_STEP_MS = 50;
const MAX_RETRY_DELAY_MS = 1000;
const CONNECT_TIMEOUT_MS = 5000;
/** Where another server takes over soon. */
const MAX_RETRY_DELAY_OF_MANY_MS = 250;
const CONNECT_TIMEOUT_OF_MANY_MS = 1000;
const KEEP_ALIVE_MS = 10_000;
const LOADING_RETRY_MS = 250;
const MANAGEMENT_TIMEOUT_MS = 3000;
const MAX_SILENCE_MS = 10_000;

/**
 * A connection to the store.
 *
 * Behind Sentinels, and in a cluster too, it is one connection to one server at a time, the primary of the
 * site's keys: commands without a key (INFO, WAIT) go where the site is, and in the order of their calls.
 */
export type StoreConnection = Redis;

/** Where the store is: its only server, or whoever is the primary. */
export interface StorePlace {
  /** The gateway's own server. */
  readonly socketPath?: string | undefined;
  /** `redis://`, `rediss://` or `unix:///`, as `redis.url` has it. */
  readonly url?: string | undefined;
  /** Behind Sentinels, or in a cluster. */
  readonly primary?: PrimaryWatch | undefined;
  /** For `url` and `primary`. */
  readonly access?: StoreAccess | undefined;
  /** A key of the site that never exists; in a cluster only. */
  readonly absentKey?: string | undefined;
}

/** The server to connect to, and the connection's name there. */
export interface ConnectionOptions extends StorePlace {
  readonly log: Logger;
  /** Shared by all connections to the server. */
  readonly outages: StoreOutages;
  readonly name: string;
  /** Prefix of every key, for a library whose own key names know none. */
  readonly keyPrefix?: string | undefined;
  /** Timeout for a sign of life from a server on another machine, and for any command of the management. */
  readonly maxSilenceMs?: number | undefined;
}

/**
 * Connects the message path, whose commands wait for the store without limit.
 *
 * Commands are sent again when the connection broke before the answer, so they must be idempotent
 * (DEPENDENCY-FAULTS 7).
 */
export function connectRedis(options: ConnectionOptions): StoreConnection {
  const redis = connect(options, { maxRetriesPerRequest: null }, true);
  watchSilence(redis, options, options.maxSilenceMs ?? MAX_SILENCE_MS);
  return redis;
}

/**
 * Connects the management interface, whose commands fail soon and are never sent twice.
 */
export function connectManagementRedis(options: ConnectionOptions): StoreConnection {
  const timeoutMs = options.maxSilenceMs ?? MANAGEMENT_TIMEOUT_MS;
  const specific = {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    commandTimeout: timeoutMs,
  };
  const redis = connect(options, specific, false);
  breakOnTimeout(redis, options, timeoutMs);
  return redis;
}

/** Resolves once the connection can be used. */
export function untilReady(redis: Redis, timeoutMs: number): Promise<void> {
  if (redis.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      redis.off('ready', done);
      reject(new GatewayError('start-failed', `the store did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    redis.once('ready', done);
  });
}

function connect(
  options: ConnectionOptions,
  specific: RedisOptions,
  isRetrying: boolean,
): StoreConnection {
  const { name, keyPrefix, primary, absentKey, outages } = options;
  let isLeaving = false;
  const maxRetryDelayMs = primary === undefined ? MAX_RETRY_DELAY_MS : MAX_RETRY_DELAY_OF_MANY_MS;
  const common: RedisOptions = {
    connectionName: name,
    ...(keyPrefix !== undefined && { keyPrefix }),
    connectTimeout: primary === undefined ? CONNECT_TIMEOUT_MS : CONNECT_TIMEOUT_OF_MANY_MS,
    keepAlive: KEEP_ALIVE_MS,
    maxLoadingRetryTime: LOADING_RETRY_MS,
    // Pipelining would reorder the commands of one tick (DEPENDENCY-FAULTS 19).
    enableAutoPipelining: false,
    retryStrategy: (times) => Math.min(times * RETRY_STEP_MS, maxRetryDelayMs),
    // After a failover the old primary refuses writes: find the new one. For each further refusal on the same connection
    // ioredis would end it again, and listen to it once more.
    reconnectOnError: (error) => {
      if (isLeaving || !isElsewhere(error)) return false;
      isLeaving = true;
      outages.begin(name, error);
      return true;
    },
    ...specific,
  };
  const redis = open(options, common);
  if (options.socketPath === undefined) followPrimary(redis, { isRetrying, absentKey });
  redis.on('close', () => {
    isLeaving = false;
  });
  reportOutages(redis, options);
  return redis;
}

function open(options: ConnectionOptions, common: RedisOptions): Redis {
  const { url, socketPath, primary, access = {} } = options;
  if (socketPath !== undefined) return new Redis({ ...common, path: socketPath });
  const { user, password, tls } = access;
  const external: RedisOptions = {
    ...common,
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    ...(tls !== undefined && { tls: { ...tls } }),
  };
  if (primary !== undefined) {
    return new Redis({ ...external, Connector: primaryConnector(primary, tls) });
  }
  // ioredis recognises a socket's path only without the scheme.
  if (url !== undefined) return new Redis(url.replace(/^unix:\/\//i, ''), external);
  throw new GatewayError('start-failed', 'the store has no address');
}

function reportOutages(redis: Redis, { outages, name }: ConnectionOptions): void {
  redis.on('error', (error) => outages.begin(name, error));
  redis.on('reconnecting', () => outages.begin(name, undefined));
  redis.on('ready', () => outages.end(name));
}
