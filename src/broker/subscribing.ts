import type { ISubscribePacket, IUnsubscribePacket } from 'mqtt-packet';
import type { Logger } from 'pino';
import type { RetainedMessages } from '../delivery/retained-messages.js';
import type { RequestedSubscription } from '../delivery/session.js';
import type { Sessions } from '../delivery/sessions.js';
import { maySubscribe } from '../domain/grants.js';
import type { Connection } from './connection.js';
import type { Denials } from './denials.js';
import { encodeAcknowledgement, encodeSuback } from './packet-writer.js';
import { memoryOf } from './unstored-publishes.js';

/** The SUBACK code of a filter that is not granted (MQTT 3.1.1, 3.9.3). */
const FAILURE = 0x80;
const BYTES_OF_FILTER = 200;
const MAX_LOGGED_FILTERS = 10;

export interface SubscribingOptions {
  readonly sessions: Sessions;
  readonly retained: RetainedMessages;
  readonly denials: Denials;
  readonly maxFiltersPerSession: number;
  readonly log: Logger;
}

/**
 * Takes SUBSCRIBE and UNSUBSCRIBE past Aedes, which would store the filters that are refused
 * (DEPENDENCY-FAULTS 5) and write each packet once for each of its filters (6).
 *
 * A packet takes effect when it comes, and is acknowledged once that is stored.
 */
export class Subscribing {
  readonly #options: SubscribingOptions;

  constructor(options: SubscribingOptions) {
    this.#options = options;
  }

  subscribe(connection: Connection, packet: ISubscribePacket): void {
    const { messageId = 0, subscriptions } = packet;
    const granted: RequestedSubscription[] = [];
    const denied: string[] = [];
    const codes = subscriptions.map(({ topic: filter, qos }) => {
      if (!maySubscribe(connection.principal, filter)) {
        denied.push(filter);
        return FAILURE;
      }
      if (!this.#hasRoom(connection, granted, filter)) return FAILURE;
      const grantedQos = qos === 0 ? 0 : 1;
      granted.push({ filter, qos: grantedQos });
      return grantedQos;
    });
    this.#logRefused(connection, subscriptions, codes);
    if (denied.length > 0) this.#options.denials.recordFilters(connection.peer, denied);
    const stored = this.#options.sessions.subscribe(connection.client.id, granted);
    const suback = encodeSuback(messageId, codes);
    this.#acknowledge(connection, stored, suback, subscriptions.length, () => {
      if (granted.length > 0) this.#sendRetained(connection, granted);
    });
  }

  unsubscribe(connection: Connection, packet: IUnsubscribePacket): void {
    const { messageId = 0, unsubscriptions } = packet;
    const stored = this.#options.sessions.unsubscribe(connection.client.id, unsubscriptions);
    const unsuback = encodeAcknowledgement('unsuback', messageId);
    this.#acknowledge(connection, stored, unsuback, unsubscriptions.length, () => undefined);
  }

  #acknowledge(
    connection: Connection,
    stored: Promise<void>,
    bytes: Buffer,
    filters: number,
    then: () => void,
  ): void {
    const { share, client, writer } = connection;
    share.takeUntil(stored, memoryOf(filters * BYTES_OF_FILTER));
    stored.then(
      () => {
        writer.write(bytes);
        then();
      },
      (error: unknown) => {
        this.#options.log.warn({ err: error, clientId: client.id }, 'failed to store a session');
        client.close();
      },
    );
  }

  /** Filters beyond the session's limit are refused, as those without permission are. */
  #hasRoom(
    { consumer }: Connection,
    granted: readonly RequestedSubscription[],
    filter: string,
  ): boolean {
    const { subscriptions } = consumer;
    if (subscriptions.has(filter)) return true;
    return subscriptions.size + granted.length < this.#options.maxFiltersPerSession;
  }

  #sendRetained({ consumer }: Connection, granted: readonly RequestedSubscription[]): void {
    const filters = granted.map(({ filter }) => filter);
    consumer
      .offerRetained(() => this.#options.retained.matching(filters))
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'failed to send retained messages');
      });
  }

  /** One line for a SUBSCRIBE, however many filters it has. */
  #logRefused(
    { client, owner }: Connection,
    subscriptions: ISubscribePacket['subscriptions'],
    codes: readonly number[],
  ): void {
    const refused = subscriptions.filter((_, index) => codes[index] === FAILURE);
    if (refused.length === 0) return;
    const filters = refused.slice(0, MAX_LOGGED_FILTERS).map(({ topic }) => topic);
    const which = { clientId: client.id, principal: owner, count: refused.length, filters };
    this.#options.log.info(which, 'subscription refused');
  }
}
