import { Readable } from 'node:stream';
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
    this.#inBackground(client, this.#options.stored.putWill(client, packet));
    return Promise.resolve();
  }

  /**
   * Deletes the will of a connection that has ended.
   *
   * Aedes also calls this at each CONNECT, without its id: the library would send three commands for a
   * will that was never stored.
   */
  async delWill(client: ClientRef): Promise<void> {
    if (client.brokerId === undefined) return Promise.resolve();
    this.#inBackground(client, this.#options.stored.delWill(client));
    return Promise.resolve();
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

  /** Runs a call without waiting. */
  #inBackground({ id: clientId }: ClientRef, call: Promise<unknown>): void {
    call.catch((error: unknown) =>
      this.#options.log.warn({ clientId, err: error }, 'failed to store a will'),
    );
  }
}
