import { Readable } from 'node:stream';
import type { RedisPersistence } from 'aedes-persistence-redis';
import type { Logger } from 'pino';
import type { Sessions } from '../delivery/sessions.js';

interface ClientRef {
  readonly id: string;
}

/**
 * Aedes says "session present" where a session has subscriptions [MQTT-3.2.2-2]; this one stands for a
 * session. Aedes never makes any: `authorizeSubscribe` grants none.
 */
const SESSION = { topic: '$session', qos: 0 } as const;

export interface BrokerPersistenceOptions {
  readonly sessions: Sessions;
  readonly stored: RedisPersistence;
  readonly log: Logger;
}

/**
 * What Aedes asks its persistence for. Wills are with aedes-persistence-redis; sessions, queues,
 * retained messages and packet identifiers are ours, and Aedes finds none.
 *
 * Whatever a CONNECT waits for is answered without the store, so that a device can connect, and its
 * alarms reach the nurses, while the store is away (CONTRACT 4.4).
 */
export class BrokerPersistence {
  readonly #options: BrokerPersistenceOptions;
  #lastInBackground: Promise<unknown> = Promise.resolve();

  constructor(options: BrokerPersistenceOptions) {
    this.#options = options;
  }

  /** Resolves when the store has answered what it was asked so far in the background. */
  answered(): Promise<unknown> {
    return this.#lastInBackground;
  }

  async setup(broker: object): Promise<void> {
    await this.#options.stored.setup(broker);
  }

  /** Clients (Paho) throw away what was not acknowledged unless CONNACK says the session is there. */
  async subscriptionsByClient(client: ClientRef): Promise<readonly object[]> {
    const isResumed = this.#options.sessions.get(client.id)?.isResumed === true;
    return Promise.resolve(isResumed ? [SESSION] : []);
  }

  /** A clean session begins: `Sessions.open` has discarded what there was. */
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

  /** Asked for refused clients, too, by whatever id they have claimed (DEPENDENCY-FAULTS 24). */
  async cleanIncoming(): Promise<void> {
    return Promise.resolve();
  }

  async putWill(client: ClientRef, packet: object): Promise<void> {
    this.#inBackground(this.#options.stored.putWill(client, packet));
    return Promise.resolve();
  }

  async delWill(client: ClientRef): Promise<void> {
    this.#inBackground(this.#options.stored.delWill(client));
    return Promise.resolve();
  }

  streamWill(brokers: object): Readable {
    return this.#options.stored.streamWill(brokers);
  }

  /** The connection to the store keeps the order: what comes later is done later there. */
  #inBackground(call: Promise<unknown>): void {
    this.#lastInBackground = call.catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'failed to store a will'),
    );
  }
}
