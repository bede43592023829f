import { Redis } from 'ioredis';
import { type Address, addressText } from '../../domain/server-address.js';
import type { StoreAccess } from '../server/store-access.js';

const ANSWER_TIMEOUT_MS = 500;
const CONNECT_TIMEOUT_MS = 1_000;

/**
 * A Sentinel or cluster node that is asked who is the primary.
 *
 * ioredis itself asks Sentinels without a timeout, so that a frozen one holds it up for ever. A connection that has
 * failed once is never used again: the kernel notices a peer that vanished only after minutes, and ioredis takes a
 * connection for ready that was broken during its first commands, and never connects again (ioredis issue 2099).
 */
export class Informant {
  readonly #address: Address;
  readonly #access: StoreAccess;
  #redis: Redis | undefined;
  /** Why the connection is not there. */
  #failure: Error | undefined;

  constructor(address: Address, access: StoreAccess) {
    this.#address = address;
    this.#access = access;
  }

  /** Asks several questions; rejects within half a second when one has no answer. */
  async ask(...questions: readonly (readonly [string, ...string[]])[]): Promise<unknown[]> {
    const redis = this.#connection();
    try {
      const answers = await Promise.all(
        questions.map(([command, ...args]) => redis.call(command, ...args)),
      );
      this.#failure = undefined;
      return answers;
    } catch (error) {
      // One that is still connecting has a timeout of its own.
      if (redis.status !== 'connecting') this.#drop(redis);
      const cause = this.#failure ?? error;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${addressText(this.#address)}: ${reason}`, { cause });
    }
  }

  stop(): void {
    if (this.#redis !== undefined) this.#drop(this.#redis);
  }

  #connection(): Redis {
    if (this.#redis !== undefined) return this.#redis;
    const { user, password, tls } = this.#access;
    const redis = new Redis({
      ...this.#address,
      ...(user !== undefined && { username: user }),
      ...(password !== undefined && { password }),
      ...(tls !== undefined && { tls }),
      connectionName: 'primary-watch',
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: ANSWER_TIMEOUT_MS,
      enableReadyCheck: false,
      retryStrategy: () => null,
    });
    redis.on('error', (error) => {
      this.#failure = error;
    });
    redis.on('end', () => this.#drop(redis));
    this.#redis = redis;
    return redis;
  }

  #drop(redis: Redis): void {
    if (redis === this.#redis) this.#redis = undefined;
    redis.disconnect();
    // What ioredis only ends stays open for as long as the peer is silent; it has no socket before it connects.
    redis.stream?.destroy();
  }
}
