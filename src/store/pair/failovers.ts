import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { z } from 'zod';
import { type Address, addressText } from '../../domain/server-address.js';
import { accessOptions, type StoreAccess } from '../server/store-access.js';

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 1_000;
/** `<name> <old address> <old port> <new address> <new port>` */
const SWITCHED = '+switch-master';
/** The fields of SENTINEL MASTER: `name`, …, `ip`, …, `port`, …. */
const masterSchema = z.array(z.string()).transform((fields): [string, number] => {
  const field = (name: string) => fields[fields.indexOf(name) + 1] ?? '';
  return [field('ip'), Number(field('port'))];
});

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
  #primary: string | undefined;

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
      // Asked anew on each connection.
      autoResubscribe: false,
      maxRetriesPerRequest: null,
      retryStrategy: () => RECONNECT_MS,
    });
    const sentinel = addressText(address);
    let isAway = false;
    const failed = (err: unknown) => {
      if (!isAway) this.#log.warn({ sentinel, err }, 'failed to ask a Sentinel');
      isAway = true;
    };
    redis.on('error', failed);
    redis.on('ready', () => {
      this.#listen(redis).then(() => {
        if (isAway) this.#log.info({ sentinel }, 'a Sentinel answers again');
        isAway = false;
      }, failed);
    });
    redis.on('message', (_channel, message) => {
      const [name, , , host = '', port] = message.split(' ');
      if (name === this.place.name) this.#isPrimary(host, Number(port));
    });
    return redis;
  }

  /** Asks first: the failover may have happened while nobody listened. */
  async #listen(redis: Redis): Promise<void> {
    const { name } = this.place;
    const [host, port] = masterSchema.parse(await redis.call('SENTINEL', 'MASTER', name));
    this.#isPrimary(host, port);
    await redis.subscribe(SWITCHED);
  }

  #isPrimary(host: string, port: number): void {
    const primary = addressText({ host, port });
    const former = this.#primary;
    this.#primary = primary;
    if (former === undefined || former === primary) return;
    this.#log.info({ primary }, 'the store has a new primary');
    for (const listener of [...this.#listeners]) listener();
  }
}
