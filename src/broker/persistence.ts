import { Readable } from 'node:stream';
import type { RedisPersistence } from 'aedes-persistence-redis';
import type { Logger } from 'pino';
import type { Sessions } from '../delivery/sessions.js';

interface ClientRef {
  readonly id: string;
}

/**
 * Stands for a session: Aedes says "session present" only with subscriptions [MQTT-3.2.2-2].
 *
 * Aedes has none of its own: `authorizeSubscribe` grants none.
 */
const SESSION = { topic: '$session', qos: 0 } as const;

export interface BrokerPersistenceOptions {
  readonly sessions: Sessions;
  readonly stored: RedisPersistence;
  readonly log: Logger;
}

/**
 * The persistence of Aedes, which holds nothing but wills.
 *
 * Wills are with aedes-persistence-redis; sessions, queues, retained messages and packet
 * identifiers are ours, and Aedes finds none.
 *
 * Calls that a CONNECT waits for are answered without the store, so that a device can connect, and
 * its alarms reach the nurses, while the store is away (CONTRACT 4.4).
 */
export class BrokerPersistence {
  readonly #options: BrokerPersistenceOptions;
  #lastInBackground: Promise<unknown> = Promise.resolve();

  constructor(options: BrokerPersistenceOptions) {
    this.#options = options;
  }

  /** Resolves once the store has answered all background calls so far. */
  answered(): Promise<unknown> {
    return this.#lastInBackground;
  }

  async setup(broker: object): Promise<void> {
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

  async subscriptionsByTopic(): Promise<never[]> {
    return Promise.resolve([]);
  }

  async outgoingEnqueueCombi(): Promise<void> {
    return Promise.resolve();
  }

  outgoingStream(): Readable {
    return Readable.from([]);
  }

  async storeRetained(): Promise<void> {
    return Promise.resolve();
  }

  createRetainedStreamCombi(): Readable {
    return Readable.from([]);
  }

  /**
   * Does nothing: Aedes also calls this after a connect error, with any client id that was claimed
   * (DEPENDENCY-FAULTS 24).
   */
  async cleanIncoming(): Promise<void> {
    return Promise.resolve();
  }

  async putWill(client: ClientRef, packet: object): Promise<void> {
    this.#inBackground(client, this.#options.stored.putWill(client, packet));
    return Promise.resolve();
  }

  async delWill(client: ClientRef): Promise<void> {
    this.#inBackground(client, this.#options.stored.delWill(client));
    return Promise.resolve();
  }

  streamWill(brokers: object): Readable {
    return this.#options.stored.streamWill(brokers);
  }

  /** Runs a call without waiting; the connection to the store keeps the order of calls. */
  #inBackground({ id: clientId }: ClientRef, call: Promise<unknown>): void {
    this.#lastInBackground = call.catch((error: unknown) =>
      this.#options.log.warn({ clientId, err: error }, 'failed to store a will'),
    );
  }
}
