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

/** Which server to connect to, and under which name it lists the connection. */
export interface ConnectionOptions {
  /** `redis://`, `rediss://` or `unix:///`, as `redis.url` has it; else `socketPath`. */
  readonly url?: string | undefined;
  readonly socketPath?: string | undefined;
  readonly log: Logger;
  /** Shared by all connections to the server. */
  readonly outages: StoreOutages;
  readonly name: string;
  /** Put before every key, for a library whose own key names know no prefix. */
  readonly keyPrefix?: string | undefined;
  /** How long the message path waits for a sign of life from a server on another machine. */
  readonly maxSilenceMs?: number | undefined;
}

/**
 * The connection of the message path: its commands wait for the store as long as it takes, and are
 * sent again when the connection broke before the answer, so they must bear being done twice
 * (DEPENDENCY-FAULTS 7).
 */
export function connectRedis(options: ConnectionOptions): Redis {
  const redis = connect(options, {
    maxRetriesPerRequest: null,
    // After a failover the old primary refuses writes: look for the new one, and ask that.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  });
  watchSilence(redis, options);
  return redis;
}

/**
 * The connection of the management interface: a command that cannot be answered soon fails, and
 * none is sent twice.
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

/** Resolves when the connection can be used, at once if it can already. */
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
    // With it, commands of one tick are reordered (DEPENDENCY-FAULTS 19).
    enableAutoPipelining: false,
    retryStrategy: (times) => Math.min(times * RETRY_STEP_MS, MAX_RETRY_DELAY_MS),
    ...specific,
  });
  reportOutages(redis, options);
  return redis;
}

function open({ url, socketPath }: ConnectionOptions, options: RedisOptions): Redis {
  // ioredis takes a socket for what it is only without the scheme.
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
 * Breaks a connection on which the server has gone silent. Of a peer that vanished without a word (a
 * pulled cable) the kernel tells after some 15 minutes only, and ioredis' own `socketTimeout` can
 * fire on the connection after the one it was set for. On a socket of this machine there is nobody
 * to lose: a server that is silent there is busy.
 */
function watchSilence(redis: Redis, options: ConnectionOptions): void {
  if (redis.options.path !== undefined && redis.options.path !== null) return;
  const { log, name, maxSilenceMs = MAX_SILENCE_MS } = options;
  let isWaiting = false;
  let isBreaking = false;
  const probe = () => {
    if (isWaiting || redis.status !== 'ready') return;
    isWaiting = true;
    // Again and again: after a reconnect the same question is pending on the new connection.
    const overdue = setInterval(() => {
      if (isBreaking || (redis.status !== 'ready' && redis.status !== 'connect')) return;
      isBreaking = true;
      redis.once('close', () => {
        isBreaking = false;
      });
      log.warn({ connection: name, maxSilenceMs }, 'the store is silent; connecting anew');
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
