import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { type Address, addressText } from '../../domain/server-address.js';
import { accessOptions, type StoreAccess } from '../server/store-access.js';

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 1_000;
/** `<name> <old address> <old port> <new address> <new port>` */
const SWITCHED = '+switch-master';

/** The Sentinels of a primary and its replicas. */
export interface SentinelPlace {
  readonly sentinels: readonly Address[];
  /** The primary's name in the Sentinels' configuration. */
  readonly name: string;
  /** Access to the Sentinels, not to the store. */
  readonly access: StoreAccess;
}

/**
 * Hears from every Sentinel when another server becomes the primary: a frozen primary closes no connection.
 *
 * The failover detector of ioredis subscribes once more for each connection to the store, and writes to the
 * console while a Sentinel is away.
 */
export class Failovers {
  readonly place: SentinelPlace;
  readonly #log: Logger;
  readonly #listeners = new Set<() => void>();
  #connections: readonly Redis[] = [];
  #primary = '';

  constructor(place: SentinelPlace, log: Logger) {
    this.place = place;
    this.#log = log;
  }

  start(): void {
    this.#connections = this.place.sentinels.map((address) => this.#subscribe(address));
  }

  stop(): void {
    for (const redis of this.#connections) redis.disconnect();
  }

  /** Calls the listener once for each new primary, until the returned function is called. */
  onSwitch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #subscribe(address: Address): Redis {
    const redis = new Redis({
      ...address,
      ...accessOptions(this.place.access),
      connectionName: 'failovers',
      connectTimeout: CONNECT_TIMEOUT_MS,
      disconnectTimeout: 1,
      enableReadyCheck: false,
      maxRetriesPerRequest: null,
      retryStrategy: () => RECONNECT_MS,
    });
    let isAway = false;
    const sentinel = addressText(address);
    redis.on('error', (err) => {
      if (!isAway) this.#log.warn({ sentinel, err }, 'failed to reach a Sentinel');
      isAway = true;
    });
    redis.on('ready', () => {
      if (isAway) this.#log.info({ sentinel }, 'reached a Sentinel again');
      isAway = false;
    });
    redis.on('message', (_channel, message) => this.#switched(message.split(' ')));
    // A connection that breaks subscribes again by itself.
    redis.subscribe(SWITCHED).catch(() => undefined);
    return redis;
  }

  #switched([name, , , host = '', port]: readonly string[]): void {
    const primary = addressText({ host, port: Number(port) });
    if (name !== this.place.name || primary === this.#primary) return;
    this.#primary = primary;
    this.#log.info({ primary }, 'the store has a new primary');
    for (const listener of [...this.#listeners]) listener();
  }
}
