import { Redis } from 'ioredis';
import { type Address, addressText } from '../domain/server-address.js';
import type { StoreAccess } from './store-access.js';

const ANSWER_TIMEOUT_MS = 500;
const CONNECT_TIMEOUT_MS = 1_000;
const RETRY_MS = 500;

/**
 * A Sentinel or cluster node that is asked who is the primary.
 *
 * ioredis itself asks Sentinels without a timeout, so that a frozen one holds it up for ever.
 */
export class Informant {
  readonly #redis: Redis;
  readonly #address: Address;
  /** Why the connection is not there. */
  #failure: Error | undefined;

  constructor(address: Address, { user, password, tls }: StoreAccess) {
    this.#address = address;
    this.#redis = new Redis({
      ...address,
      ...(user !== undefined && { username: user }),
      ...(password !== undefined && { password }),
      ...(tls !== undefined && { tls }),
      connectionName: 'primary-watch',
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: ANSWER_TIMEOUT_MS,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      enableReadyCheck: false,
      retryStrategy: () => RETRY_MS,
    });
    this.#redis.on('error', (error) => {
      this.#failure = error;
    });
    this.#redis.on('ready', () => {
      this.#failure = undefined;
    });
  }

  /** Asks several questions; rejects within half a second when one has no answer. */
  async ask(...questions: readonly (readonly [string, ...string[]])[]): Promise<unknown[]> {
    try {
      return await Promise.all(
        questions.map(([command, ...args]) => this.#redis.call(command, ...args)),
      );
    } catch (error) {
      const cause = this.#failure ?? error;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${addressText(this.#address)}: ${reason}`, { cause });
    }
  }

  stop(): void {
    this.#redis.disconnect();
  }
}
