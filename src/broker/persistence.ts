import type { Readable } from 'node:stream';
import type { RedisPersistence } from 'aedes-persistence-redis';
import type { Logger } from 'pino';
import type { Sessions } from '../delivery/sessions.js';
import { SharedTurn } from '../delivery/shared-turn.js';

interface ClientRef {
  readonly id: string;
  readonly brokerId?: string;
}

/**
 * Stands for a session: Aedes says "session present" only with subscriptions [MQTT-3.2.2-2].
 *
 * Aedes has none of its own: `authorizeSubscribe` grants none.
 */
const SESSION = { topic: '$session', qos: 0 } as const;

const ENDLESS: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }),
};

/** The will of a session in the store. */
interface StoredWill {
  /** How many connections with a will the session has: two while one takes over from the other. */
  connections: number;
  /** Settled after the last call about it. */
  stored: Promise<unknown>;
}

export interface BrokerPersistenceOptions {
  readonly sessions: Sessions;
  readonly stored: RedisPersistence;
  readonly log: Logger;
}

/**
 * The persistence of Aedes, which holds nothing but wills.
 *
 * Wills are with aedes-persistence-redis; sessions, queues, retained messages and packet
 * identifiers are ours, and Aedes finds none. So there is no `cleanIncoming` here, which it would also call with
 * any client id that was claimed (DEPENDENCY-FAULTS 24).
 *
 * Calls that a CONNECT waits for are answered without the store, so that a device can connect, and
 * its alarms reach the nurses, while the store is away (CONTRACT 4.4).
 */
export class BrokerPersistence {
  readonly #options: BrokerPersistenceOptions;
  /** The connection to the store keeps the order of calls, so that any answer is one for all before. */
  readonly #asking: SharedTurn;
  /** By session. */
  readonly #wills = new Map<string, StoredWill>();
  #brokerId = '';

  constructor(options: BrokerPersistenceOptions) {
    this.#options = options;
    this.#asking = new SharedTurn(async () => {
      await options.stored.getWill({ id: '' });
    });
  }

  /** Resolves once the store has answered all calls so far; many connections share one question. */
  answered(): Promise<unknown> {
    return this.#asking.take();
  }

  async setup(broker: { readonly id: string }): Promise<void> {
    this.#brokerId = broker.id;
    await this.#options.stored.setup(broker);
  }

  /**
   * Clients (Paho) discard unacknowledged messages unless CONNACK says that the session is present.
   */
  async subscriptionsByClient(client: ClientRef): Promise<readonly object[]> {
    const isResumed = this.#options.sessions.get(client.id)?.isResumed === true;
    return Promise.resolve(isResumed ? [SESSION] : []);
  }

  /** Does nothing: `Sessions.open` has discarded the session before. */
  async cleanSubscriptions(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Never yields, and never ends.
   *
   * After CONNACK Aedes pipes this queue through two more streams. The end of them all, which it only
   * reports as `connected`, costs more than an authentication; what waits for it is garbage.
   */
  outgoingStream(): AsyncIterable<never> {
    return ENDLESS;
  }

  async putWill(client: ClientRef, packet: object): Promise<void> {
    const will = this.#wills.get(client.id) ?? { connections: 0, stored: Promise.resolve() };
    this.#wills.set(client.id, will);
    will.connections++;
    this.#afterLast(client, will, () => this.#options.stored.putWill(client, packet));
    return Promise.resolve();
  }

  /**
   * Deletes the will of a connection that has ended, unless the session has another by now.
   *
   * Aedes also calls this at each CONNECT, without its id: the library would send three commands for a
   * will that was never stored.
   */
  async delWill(client: ClientRef): Promise<void> {
    if (client.brokerId === undefined) return;
    if (client.brokerId !== this.#brokerId) {
      await this.#options.stored.delWill(client);
      return;
    }
    const will = this.#wills.get(client.id);
    if (will === undefined) return;
    will.connections--;
    this.#afterLast(client, will, async () => {
      if (will.connections > 0) return;
      await this.#options.stored.delWill(client);
    });
  }

  /**
   * The wills of earlier runs.
   *
   * Aedes takes its own broker for gone as well when the clock has jumped since its last heartbeat, and would
   * publish the wills of all that are connected.
   *
   * @param brokers those that are alive, by their ids
   */
  streamWill(brokers: object): Readable {
    return this.#options.stored.streamWill({ ...brokers, [this.#brokerId]: true });
  }

  /** Runs a call after the last one about the will, without waiting: a deletion takes the store two answers. */
  #afterLast({ id: clientId }: ClientRef, will: StoredWill, call: () => Promise<unknown>): void {
    const failed = (error: unknown) => {
      this.#options.log.warn({ clientId, err: error }, 'failed to store a will');
    };
    const stored = will.stored
      .then(call)
      .catch(failed)
      .then(() => {
        // Calls that wait hold on to this record: with another one their order would be lost.
        if (will.stored === stored && will.connections === 0) this.#wills.delete(clientId);
      });
    will.stored = stored;
  }
}
