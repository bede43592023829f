/** Connections to the store, wherever its server is: each fails at once while it is away, and is never silent for long. */
import { createConnection, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from 'pino';
import { isElsewhere } from '../../delivery/reply-code.js';
import { type Address, addressText } from '../../domain/addresses.js';
import { GatewayError } from '../../errors.js';
import { CANNOT_BE_ASKED, lacking, missingRight } from './check.js';

const RETRY_STEP_MS = 50;
const MAX_RETRY_DELAY_MS = 1000;
const CONNECT_TIMEOUT_MS = 5000;
/** For a store where another server soon takes over. */
const MAX_RETRY_DELAY_OF_MANY_MS = 250;
const CONNECT_TIMEOUT_OF_MANY_MS = 1000;
/** A frozen Sentinel, or a node that is asked once, is given up after this time. */
const ANSWER_TIMEOUT_MS = 500;
/** How often the primary is sought while nobody names it. */
const FIND_AGAIN_MS = 100;
const KEEP_ALIVE_MS = 10_000;
const LOADING_RETRY_MS = 250;
const MANAGEMENT_TIMEOUT_MS = 3000;
const MAX_SILENCE_MS = 10_000;
/** Nobody tells a gateway that a node of a cluster is frozen: its silence must. */
const MAX_SILENCE_IN_CLUSTER_MS = 3_000;

const CLOSED = 'the connection to the store was closed before it was ready';

/**
 * A connection to the store.
 *
 * Behind Sentinels and in a cluster too, it is one connection to one server at a time, the primary of the
 * site's keys. Commands without a key (INFO, WAIT) go to the site's server, in the order of their calls.
 */
export type StoreConnection = Redis;

/** Finds the primary. */
export interface Finder {
  /** @throws Error when nobody names a primary that answers */
  find(): Promise<Address>;
  /** Calls the listener once for each new primary, until the returned function is called. */
  onSwitch?(listener: () => void): () => void;
}

/** Where the store is: its only server, or the current primary. */
export interface StorePlace {
  /** The gateway's own server. */
  readonly socketPath?: string | undefined;
  /** `redis://`, `rediss://` or `unix:///`, as in `redis.url`. */
  readonly url?: string | undefined;
  /** Behind Sentinels and in a cluster: who knows where the primary is. */
  readonly primary?: Finder | undefined;
  /** Whether nobody tells of a node of it that is frozen. */
  readonly isCluster?: boolean;
  /** For all but `socketPath`. */
  readonly access?: StoreAccess | undefined;
}

/** The server to connect to, and the connection's name there. */
export interface ConnectionOptions extends StorePlace {
  readonly log: Logger;
  /** Shared by all connections to the server. */
  readonly outages: StoreOutages;
  readonly name: string;
  /** How long a command may take, and how long a server on another machine may be silent. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Connects the message path.
 *
 * The gateway's own store may take its time when busy with its disk. A store on another machine may have vanished.
 */
export function connectRedis(options: ConnectionOptions): StoreConnection {
  const silenceMs = options.isCluster === true ? MAX_SILENCE_IN_CLUSTER_MS : MAX_SILENCE_MS;
  return connect(options, isLocal(options) ? undefined : (options.timeoutMs ?? silenceMs));
}

/** Connects the management interface, where people wait for each answer. */
export function connectManagementRedis(options: ConnectionOptions): StoreConnection {
  return connect(options, options.timeoutMs ?? MANAGEMENT_TIMEOUT_MS);
}

/**
 * Resolves once the connection can be used.
 *
 * @throws GatewayError `start-failed` when the server refuses or does not answer in time, or the connection is closed
 */
export function untilReady(redis: Redis, timeoutMs?: number): Promise<void> {
  if (redis.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const settle = (error?: GatewayError) => {
      clearTimeout(timer);
      redis.off('ready', ready);
      redis.off('error', failed);
      redis.off('end', ended);
      if (error === undefined) resolve();
      else reject(error);
    };
    const ready = () => settle();
    const failed = (cause: Error) => {
      // A wrong password stays wrong, but an absent server comes back.
      if (cause.name !== 'ReplyError') return;
      const right = missingRight(cause);
      settle(
        right === undefined
          ? new GatewayError('start-failed', CANNOT_BE_ASKED, { cause })
          : lacking([right]),
      );
    };
    redis.on('ready', ready);
    const ended = () => settle(new GatewayError('start-failed', CLOSED));
    redis.on('error', failed);
    redis.on('end', ended);
    if (timeoutMs === undefined) return;
    const late = `the store did not answer within ${timeoutMs} ms`;
    timer = setTimeout(() => settle(new GatewayError('start-failed', late)), timeoutMs);
  });
}

/** Connects. A command fails if the connection is missing or breaks, and is never sent twice. */
function connect(options: ConnectionOptions, commandTimeoutMs: number | undefined): Redis {
  const { name, primary, outages } = options;
  const isOneOfMany = primary !== undefined;
  let isLeaving = false;
  const maxRetryDelayMs = isOneOfMany ? MAX_RETRY_DELAY_OF_MANY_MS : MAX_RETRY_DELAY_MS;
  const redis = open(options, {
    connectionName: name,
    connectTimeout: isOneOfMany ? CONNECT_TIMEOUT_OF_MANY_MS : CONNECT_TIMEOUT_MS,
    // A frozen server keeps an ended socket open (ioredis issue 1314).
    disconnectTimeout: 1,
    keepAlive: KEEP_ALIVE_MS,
    maxLoadingRetryTime: LOADING_RETRY_MS,
    // Pipelining would reorder the commands of one tick (dependency-faults.md, 17).
    enableAutoPipelining: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    ...(commandTimeoutMs !== undefined && { commandTimeout: commandTimeoutMs }),
    retryStrategy: (times) => Math.min(times * RETRY_STEP_MS, maxRetryDelayMs),
    // After a failover the old primary refuses writes: find the new one. For each further refusal on the same
    // connection, ioredis would end it again and add another listener.
    reconnectOnError: (error) => {
      if (isLeaving || !isElsewhere(error)) return false;
      isLeaving = true;
      outages.begin(name, error);
      return true;
    },
  });
  redis.on('close', () => {
    isLeaving = false;
  });
  reportOutages(redis, options);
  const forget = primary?.onSwitch?.(() => redis.stream?.destroy());
  if (forget !== undefined) redis.on('end', forget);
  if (!isLocal(options) && commandTimeoutMs !== undefined)
    breakSilent(redis, options, commandTimeoutMs);
  return redis;
}

function isLocal({ socketPath, url = '' }: ConnectionOptions): boolean {
  return socketPath !== undefined || /^unix:/i.test(url);
}

/**
 * Pings the server, and breaks the connection if it has gone silent.
 *
 * The kernel takes about 15 minutes to report a vanished peer (a pulled cable), and the `socketTimeout` of
 * ioredis can fire on the connection after the one it was set for. On a local socket no peer can vanish: a
 * silent server there is busy.
 */
function breakSilent(redis: Redis, { log, name }: ConnectionOptions, maxSilenceMs: number): void {
  const probe = async () => {
    const { stream, status } = redis;
    if (status !== 'ready') return;
    const heardBytes = stream.bytesRead;
    try {
      await redis.ping();
    } catch {
      const isSilent = stream.bytesRead === heardBytes;
      if (!isSilent || stream.destroyed || redis.stream !== stream) return;
      log.warn({ connection: name, maxSilenceMs }, 'the store is silent, reconnecting');
      // Ending it would wait for the peer.
      stream.destroy();
    }
  };
  let timer: NodeJS.Timeout | undefined;
  redis.on('ready', () => {
    timer = setInterval(probe, maxSilenceMs / 2);
    timer.unref();
  });
  // A connection closed while it waits to reconnect never emits `end`.
  redis.on('close', () => clearInterval(timer));
}

function open(options: ConnectionOptions, common: RedisOptions): Redis {
  const { url, socketPath, primary, access = {} } = options;
  if (socketPath !== undefined) return new Redis({ ...common, path: socketPath });
  const external: RedisOptions = { ...common, ...accessOptions(access) };
  if (primary !== undefined) {
    return new Redis({ ...external, Connector: connectorTo(primary, access.tls) });
  }
  // ioredis recognises a socket path only without the scheme.
  if (url !== undefined) return new Redis(url.replace(/^unix:\/\//i, ''), external);
  throw new GatewayError('start-failed', 'the store has no address');
}

/** The class of ioredis connectors that connect to the primary. */
function connectorTo(
  primary: Finder,
  tls: StoreAccess['tls'],
): NonNullable<RedisOptions['Connector']> {
  return class extends PrimaryConnector {
    constructor() {
      super(primary, tls);
    }
  };
}

class PrimaryConnector extends AbstractConnector {
  readonly #primary: Finder;
  readonly #tls: StoreAccess['tls'];
  #socket: Socket | undefined;

  constructor(primary: Finder, tls: StoreAccess['tls']) {
    super(0);
    this.#primary = primary;
    this.#tls = tls;
  }

  /** Asks until it gets an answer: an error thrown here would end the connection for good. */
  override async connect(emit: (type: string, error: Error) => void): Promise<Socket> {
    this.connecting = true;
    for (;;) {
      try {
        return this.#open(await this.#primary.find());
      } catch (error) {
        this.#endIfUnwanted();
        if (error instanceof Error) emit('error', error);
        await new Promise((resolve) => setTimeout(resolve, FIND_AGAIN_MS));
        this.#endIfUnwanted();
      }
    }
  }

  override disconnect(): void {
    this.connecting = false;
    this.#socket?.destroy();
  }

  #open(address: Address): Socket {
    this.#endIfUnwanted();
    const tls = this.#tls;
    const socket =
      tls === undefined ? createConnection({ ...address }) : connectTls({ ...address, ...tls });
    socket.once('error', (error) => {
      this.firstError = error;
    });
    this.#socket = socket;
    return socket;
  }

  #endIfUnwanted(): void {
    if (!this.connecting) throw new Error('Connection is closed.');
  }
}

/**
 * Asks a server over a connection of its own, which then ends.
 *
 * A connection that has failed once is never used again: the kernel takes minutes to notice a vanished peer.
 *
 * @throws Error that begins with the address, if there is no answer within a second and a half
 */
export async function askServer(
  address: Address,
  access: StoreAccess,
  command: string,
  ...args: readonly string[]
): Promise<unknown> {
  const redis = new Redis({
    ...address,
    ...accessOptions(access),
    connectionName: 'question',
    connectTimeout: CONNECT_TIMEOUT_OF_MANY_MS,
    commandTimeout: ANSWER_TIMEOUT_MS,
    disconnectTimeout: 1,
    enableReadyCheck: false,
    retryStrategy: () => null,
    lazyConnect: true,
  });
  let failure: Error | undefined;
  redis.on('error', (error) => {
    failure = error;
  });
  try {
    await redis.connect();
    return await redis.call(command, ...args);
  } catch (error) {
    const cause = failure ?? error;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${addressText(address)}: ${reason}`, { cause });
  } finally {
    redis.disconnect();
  }
}

function reportOutages(redis: Redis, { outages, name }: ConnectionOptions): void {
  redis.on('error', (error) => outages.begin(name, error));
  redis.on('reconnecting', () => outages.begin(name, undefined));
  redis.on('ready', () => outages.end(name));
}

/** PEM for TLS. Without `ca`, the certificate authorities known to Node.js are trusted. */
export interface StoreTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** How a client identifies itself, and whether it speaks TLS. */
export interface StoreAccess {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?: StoreTls | undefined;
}

/** The same as ioredis takes it. */
export function accessOptions({ user, password, tls }: StoreAccess): RedisOptions {
  return {
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    ...(tls !== undefined && { tls: { ...tls } }),
  };
}

/** A store that refuses writes still takes connections: an outage ends only after this time without another. */
const ENDED_AFTER_MS = 3_000;

/**
 * Logs the beginning and the end of each outage of the store once.
 *
 * Not every connection that notices, and not every attempt to reconnect, is worth a line.
 */
export class StoreOutages {
  readonly #log: Logger;
  /** The connections now out. */
  readonly #out = new Set<string>();
  readonly #endedAfterMs: number;
  /** The connections that were out in this outage. */
  readonly #told = new Set<string>();
  #ending: NodeJS.Timeout | undefined;

  constructor(log: Logger, endedAfterMs = ENDED_AFTER_MS) {
    this.#log = log;
    this.#endedAfterMs = endedAfterMs;
  }

  /** Notes that the connection is out; may be called repeatedly. */
  begin(connection: string, err: Error | undefined): void {
    clearTimeout(this.#ending);
    this.#out.add(connection);
    if (this.#told.has(connection)) return;
    const level = this.#told.size === 0 ? 'error' : 'debug';
    this.#told.add(connection);
    this.#log[level]({ err, connection }, 'failed to reach the store');
  }

  /** Notes that the connection can be used. */
  end(connection: string): void {
    if (!this.#out.delete(connection) || this.#out.size > 0) return;
    this.#ending = setTimeout(() => {
      this.#told.clear();
      this.#log.info('reached the store again');
    }, this.#endedAfterMs).unref();
  }
}
