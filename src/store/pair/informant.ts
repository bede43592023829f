import { Redis } from 'ioredis';
import { type Address, addressText } from '../../domain/server-address.js';
import type { StoreAccess } from '../server/store-access.js';

const ANSWER_TIMEOUT_MS = 500;
const CONNECT_TIMEOUT_MS = 1_000;

/**
 * A Sentinel or cluster node that tells who is the primary.
 *
 * By its defaults ioredis asks Sentinels without a timeout, so a frozen one blocks it for ever. A connection that has failed
 * once is never used again: the kernel takes minutes to notice a vanished peer, and ioredis considers a connection
 * ready that broke during its first commands, and never reconnects (ioredis issue 2099).
 */
export class Informant {
  readonly #address: Address;
  readonly #access: StoreAccess;
  #redis: Redis | undefined;
  /** Why there is no connection. */
  #failure: Error | undefined;

  constructor(address: Address, access: StoreAccess) {
    this.#address = address;
    this.#access = access;
  }

  /** Asks several questions; rejects within half a second if one gets no answer. */
  async ask(...questions: readonly (readonly [string, ...string[]])[]): Promise<unknown[]> {
    const redis = this.#connection();
    try {
      const answers = await Promise.all(
        questions.map(([command, ...args]) => redis.call(command, ...args)),
      );
      this.#failure = undefined;
      return answers;
    } catch (error) {
      // A connection still being made has its own timeout.
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
    // ioredis only ends the socket, which stays open while the peer is silent. Before connecting there is none.
    redis.stream?.destroy();
  }
}
