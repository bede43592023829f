import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.js';
import type { StoreOutages } from './store-outages.js';

const RETRY_STEP_MS = 50;
const MAX_RETRY_DELAY_MS = 1000;
const CONNECT_TIMEOUT_MS = 5000;
const KEEP_ALIVE_MS = 10_000;
const LOADING_RETRY_MS = 250;
const MANAGEMENT_TIMEOUT_MS = 3000;
const MAX_SILENCE_MS = 10_000;

/** The server to connect to, and the connection's name there. */
export interface ConnectionOptions {
  /** `redis://`, `rediss://` or `unix:///`, as `redis.url` has it; else `socketPath`. */
  readonly url?: string | undefined;
  readonly socketPath?: string | undefined;
  readonly log: Logger;
  /** Shared by all connections to the server. */
  readonly outages: StoreOutages;
  readonly name: string;
  /** Prefix of every key, for a library whose own key names know none. */
  readonly keyPrefix?: string | undefined;
  /** Timeout for a sign of life from a server on another machine. */
  readonly maxSilenceMs?: number | undefined;
}

/**
 * Connects the message path, whose commands wait for the store without limit.
 *
 * Commands are sent again when the connection broke before the answer, so they must be idempotent
 * (DEPENDENCY-FAULTS 7).
 */
export function connectRedis(options: ConnectionOptions): Redis {
  const redis = connect(options, {
    maxRetriesPerRequest: null,
    // After a failover the old primary refuses writes: find the new one and send again there.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  });
  watchSilence(redis, options);
  return redis;
}

/**
 * Connects the management interface, whose commands fail soon and are never sent twice.
 */
export function connectManagementRedis(options: ConnectionOptions): Redis {
  return connect(options, {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    commandTimeout: MANAGEMENT_TIMEOUT_MS,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
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

function connect(options: ConnectionOptions, specific: RedisOptions): Redis {
  const redis = open(options, {
    connectionName: options.name,
    ...(options.keyPrefix !== undefined && { keyPrefix: options.keyPrefix }),
    connectTimeout: CONNECT_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    maxLoadingRetryTime: LOADING_RETRY_MS,
    // Pipelining would reorder the commands of one tick (DEPENDENCY-FAULTS 19).
    enableAutoPipelining: false,
    retryStrategy: (times) => Math.min(times * RETRY_STEP_MS, MAX_RETRY_DELAY_MS),
    ...specific,
  });
  reportOutages(redis, options);
  return redis;
}

function open({ url, socketPath }: ConnectionOptions, options: RedisOptions): Redis {
  // ioredis recognises a socket's path only without the scheme.
  if (url !== undefined) return new Redis(url.replace(/^unix:\/\//i, ''), options);
  if (socketPath !== undefined) return new Redis({ ...options, path: socketPath });
  throw new GatewayError('start-failed', 'the store has no address');
}

function reportOutages(redis: Redis, { outages, name }: ConnectionOptions): void {
  redis.on('error', (error) => outages.begin(name, error));
  redis.on('reconnecting', () => outages.begin(name, undefined));
  redis.on('ready', () => outages.end(name));
}

/**
 * Breaks a connection on which the server has gone silent.
 *
 * The kernel reports a peer that vanished (a pulled cable) only after some 15 minutes, and ioredis'
 * `socketTimeout` can fire on the connection after the one it was set for. On a local socket no peer can
 * vanish: a server that is silent there is busy.
 */
function watchSilence(redis: Redis, options: ConnectionOptions): void {
  if (redis.options.path !== undefined && redis.options.path !== null) return;
  const { log, name, maxSilenceMs = MAX_SILENCE_MS } = options;
  let isWaiting = false;
  let isBreaking = false;
  const probe = () => {
    if (isWaiting || redis.status !== 'ready') return;
    isWaiting = true;
    // Repeated, because after a reconnect this PING is pending on the new connection.
    const overdue = setInterval(() => {
      if (isBreaking || (redis.status !== 'ready' && redis.status !== 'connect')) return;
      isBreaking = true;
      redis.once('close', () => {
        isBreaking = false;
      });
      log.warn({ connection: name, maxSilenceMs }, 'the store is silent, reconnecting');
      redis.disconnect(true);
    }, maxSilenceMs);
    const answered = () => {
      clearInterval(overdue);
      isWaiting = false;
    };
    redis.ping().then(answered, answered);
  };
  const timer = setInterval(probe, maxSilenceMs / 2);
  timer.unref();
  redis.once('end', () => clearInterval(timer));
}
