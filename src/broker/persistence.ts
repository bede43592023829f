import { Readable } from 'node:stream';
import type { RedisPersistence } from 'aedes-persistence-redis';
import type { Logger } from 'pino';
import type { RequestedSubscription, Sessions } from '../delivery/sessions.js';

interface ClientRef {
  readonly id: string;
}

interface AedesSubscription {
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
}

/** Stands for a session that has no subscription; nobody else can have this very one. */
export const SESSION_PRESENT: AedesSubscription = { topic: '$session', qos: 0 };

export interface BrokerPersistenceOptions {
  readonly sessions: Sessions;
  readonly stored: RedisPersistence;
  /** Whether it has shown a valid credential, and the client id is its own. */
  readonly isAdmitted: (client: ClientRef) => boolean;
  /** Whether the client may have this subscription. */
  readonly isGranted: (clientId: string, filter: string) => boolean;
  /** A client is releasing an incoming QoS 2 packet identifier, which waits for this answer. */
  readonly onReleasing: (clientId: string, answer: Promise<unknown>) => void;
  /** The client has released an incoming QoS 2 packet identifier. */
  readonly onReleased: (clientId: string, messageId: number) => void;
  readonly log: Logger;
}

/**
 * What Aedes asks its persistence for, answered from where it is really kept. Sessions and their
 * queues are ours (`Sessions`, the log); wills and the packet identifiers of incoming QoS 2 are with
 * aedes-persistence-redis. Aedes itself delivers nothing, so queues are empty here and retained
 * messages come from `Destination.offerRetained`.
 *
 * Whatever a CONNECT waits for is answered without the store, so that a device can connect, and its
 * alarms reach the nurses, while the store is away (CONTRACT 4.4).
 */
export class BrokerPersistence {
  readonly #options: BrokerPersistenceOptions;
  /** The subscriptions of a SUBSCRIBE that are being stored: Aedes asks once for each of them. */
  readonly #storing = new WeakMap<readonly AedesSubscription[], Promise<void>>();
  #lastInBackground: Promise<unknown> = Promise.resolve();

  constructor(options: BrokerPersistenceOptions) {
    this.#options = options;
  }

  /** Resolves when the store has answered what it was asked for so far though nobody waits for it. */
  answered(): Promise<unknown> {
    return this.#lastInBackground;
  }

  async setup(broker: object): Promise<void> {
    await this.#options.stored.setup(broker);
  }

  /**
   * Aedes passes the whole SUBSCRIBE for each of its filters (DEPENDENCY-FAULTS 6), refused ones
   * among them (5): it is written once, and only what is granted.
   */
  addSubscriptions(client: ClientRef, subscriptions: readonly AedesSubscription[]): Promise<void> {
    const storing = this.#storing.get(subscriptions) ?? this.#add(client, subscriptions);
    this.#storing.set(subscriptions, storing);
    return storing;
  }

  async removeSubscriptions(client: ClientRef, filters: readonly string[]): Promise<void> {
    await this.#options.sessions.unsubscribe(client.id, filters);
  }

  /**
   * What Aedes takes up of a session. It tells one by its subscriptions alone: a session that has none
   * is given one that Aedes refuses, so that CONNACK says it is there [MQTT-3.2.2-2]. Otherwise clients
   * (Paho) throw away what they have not got acknowledged.
   */
  async subscriptionsByClient(client: ClientRef): Promise<AedesSubscription[]> {
    const { sessions } = this.#options;
    const subscriptions = sessions.subscriptionsOf(client.id);
    if (subscriptions.length === 0 && sessions.isResumed(client.id)) return [SESSION_PRESENT];
    return subscriptions.map(({ filter, qos }) => ({ topic: filter, qos }));
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

  async outgoingUpdate(): Promise<void> {
    return Promise.resolve();
  }

  /** A PUBACK has come. */
  async outgoingClearMessageId(client: ClientRef, packet: { messageId?: number }): Promise<void> {
    if (packet.messageId !== undefined) {
      this.#options.sessions.get(client.id)?.acknowledge(packet.messageId);
    }
    return Promise.resolve();
  }

  outgoingStream(): Readable {
    return Readable.from([]);
  }

  /** Publishes reach Aedes with their retain flag taken off (`PublishHook`). */
  async storeRetained(): Promise<void> {
    return Promise.resolve();
  }

  createRetainedStreamCombi(): Readable {
    return Readable.from([]);
  }

  /** Aedes sees no publish at QoS 2 (`PublishHook`); `IncomingReceipts` keeps what PUBREL releases. */
  async incomingStorePacket(): Promise<void> {
    return Promise.resolve();
  }

  /** A PUBREL has come. */
  async incomingGetPacket(client: ClientRef, packet: object): Promise<object> {
    const answer = this.#options.stored.incomingGetPacket(client, packet);
    this.#options.onReleasing(client.id, answer);
    return answer;
  }

  async incomingDelPacket(client: ClientRef, packet: { messageId?: number }): Promise<void> {
    await this.#options.stored.incomingDelPacket(client, packet);
    if (packet.messageId !== undefined) this.#options.onReleased(client.id, packet.messageId);
  }

  /** Aedes asks for it for refused clients, too, by whatever id they have claimed (DEPENDENCY-FAULTS 24). */
  async cleanIncoming(client: ClientRef): Promise<void> {
    if (!this.#options.isAdmitted(client)) return Promise.resolve();
    this.#inBackground(this.#options.stored.cleanIncoming(client));
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

  async #add(client: ClientRef, subscriptions: readonly AedesSubscription[]): Promise<void> {
    const granted: RequestedSubscription[] = subscriptions
      .filter(({ topic }) => this.#options.isGranted(client.id, topic))
      .map(({ topic, qos }) => ({ filter: topic, qos: qos === 0 ? 0 : 1 }));
    await this.#options.sessions.subscribe(client.id, granted);
  }

  /** The connection to the store keeps the order: what comes later is done later there. */
  #inBackground(call: Promise<unknown>): void {
    this.#lastInBackground = call.catch((error: unknown) =>
      this.#options.log.warn({ err: error }, 'session state not stored'),
    );
  }
}
