import type { ISubscribePacket, IUnsubscribePacket } from 'mqtt-packet';
import type { Logger } from 'pino';
import type { RetainedMessages } from '../delivery/retained/retained-messages.js';
import type { RequestedSubscription } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import { maySubscribe, type Principal } from '../domain/grants.js';
import type { ConnectionQuotas } from '../domain/limits.js';
import { withLowerCaseIds } from '../domain/topics.js';
import type { DeniedReason } from '../site/access/connection-list.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import { type ConnectionDenials, SUBACK_FAILURE } from './admission/connection-denials.js';
import type { Budget } from './budgets/budgets.js';
import { memoryOf } from './budgets/unstored-publishes.js';
import type { Connection } from './connection.js';
import { encodeAcknowledgement, encodeSuback } from './wire/packet-writer.js';

const BYTES_OF_FILTER = 200;
const MAX_LOGGED_FILTERS = 10;

export interface SubscribingOptions {
  readonly sessions: Sessions;
  readonly retained: Pick<RetainedMessages, 'matching' | 'later'>;
  readonly denials: ConnectionDenials;
  readonly maxFiltersPerSession: number;
  readonly quotasOf: (principal: Principal) => ConnectionQuotas;
  readonly watch: QuotaWatch;
  readonly log: Logger;
}

/**
 * Takes SUBSCRIBE and UNSUBSCRIBE past Aedes.
 *
 * Aedes would store the filters that are denied (DEPENDENCY-FAULTS 5) and write each packet once
 * for each of its filters (6). A packet takes effect on arrival, and is acknowledged once that is
 * stored.
 */
export class Subscribing {
  readonly #options: SubscribingOptions;

  constructor(options: SubscribingOptions) {
    this.#options = options;
  }

  subscribe(connection: Connection, packet: ISubscribePacket): void {
    const { messageId = 0, subscriptions } = packet;
    const granted: RequestedSubscription[] = [];
    const added = new Set<string>();
    const room = this.#roomOf(connection);
    const codes = subscriptions.map(({ topic, qos }) => {
      const filter = withLowerCaseIds(topic);
      const code = this.#denialOf(connection, added, filter, room);
      if (code !== undefined) {
        this.#options.denials.filter(connection.peer, filter, code);
        return SUBACK_FAILURE;
      }
      const grantedQos = qos === 0 ? 0 : 1;
      granted.push({ filter, qos: grantedQos });
      return grantedQos;
    });
    this.#logDenied(connection, subscriptions, codes);
    const stored = this.#options.sessions.subscribe(connection.session.key, granted);
    connection.receive();
    const suback = encodeSuback(messageId, codes);
    this.#acknowledge(connection, stored, suback, subscriptions.length, () => {
      if (granted.length > 0) this.#sendRetained(connection, granted);
    });
  }

  unsubscribe(connection: Connection, packet: IUnsubscribePacket): void {
    const { messageId = 0, unsubscriptions } = packet;
    const filters = unsubscriptions.map(withLowerCaseIds);
    const stored = this.#options.sessions.unsubscribe(connection.session.key, filters);
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
    const { share, session, writer } = connection;
    share.takeUntil(stored, memoryOf(filters * BYTES_OF_FILTER));
    stored.then(
      () => {
        writer.write(bytes);
        then();
      },
      (error: unknown) => {
        const { owner: principal } = connection;
        const fields = { clientId: session.clientId, err: error };
        this.#options.log.warn({ principal, ...fields }, 'failed to store a session');
        connection.end('not-stored');
      },
    );
  }

  /**
   * Why a filter gets 0x80, undefined if it is granted.
   *
   * @param added the filters of the packet that are new; clients send the others again whenever they connect
   */
  #denialOf(
    { session, principal, owner }: Connection,
    added: Set<string>,
    filter: string,
    room: number,
  ): DeniedReason | undefined {
    if (!maySubscribe(principal, filter)) {
      return principal.type === 'device' ? 'filter-not-of-device' : 'filter-outside-grants';
    }
    const subscriptions = session.consumer?.subscriptions;
    if (subscriptions?.has(filter) === true || added.has(filter)) return undefined;
    const count = (subscriptions?.size ?? 0) + added.size;
    if (count >= this.#options.maxFiltersPerSession) return 'too-many-filters';
    if (added.size < room) {
      added.add(filter);
      return undefined;
    }
    this.#options.watch.exceeded('subscriptions', owner);
    return 'too-many-subscriptions';
  }

  /** How many more filters the principal may have; ended ones count as long as they have a backlog. */
  #roomOf({ principal, owner }: Connection): number {
    const held = this.#options.sessions
      .ofOwner(owner)
      .reduce((sum, { consumer }) => sum + (consumer?.subscriptions.size ?? 0), 0);
    return this.#options.quotasOf(principal).subscriptions - held;
  }

  #sendRetained({ consumer, budget }: Connection, granted: readonly RequestedSubscription[]): void {
    const filters = granted.map(({ filter }) => filter);
    consumer?.offerRetained(filters, paidBy(budget, this.#options.retained));
  }

  /** Logs denied filters in one line for a SUBSCRIBE, however many there are. */
  #logDenied(
    { session, owner }: Connection,
    subscriptions: ISubscribePacket['subscriptions'],
    codes: readonly number[],
  ): void {
    const denied = subscriptions.filter((_, index) => codes[index] === SUBACK_FAILURE);
    if (denied.length === 0) return;
    const filters = denied.slice(0, MAX_LOGGED_FILTERS).map(({ topic }) => topic);
    const which = { clientId: session.clientId, count: denied.length, filters };
    this.#options.log.info({ principal: owner, ...which }, 'subscription denied');
  }
}

/** Retained messages, whose bytes count as those of the principal that asks for them. */
export function paidBy(
  budget: Budget,
  retained: Pick<RetainedMessages, 'matching' | 'later'>,
): Pick<RetainedMessages, 'matching' | 'later'> {
  return {
    later: (resume) => retained.later(resume),
    *matching(filters) {
      for (const message of retained.matching(filters)) {
        if (message !== undefined) budget.takeAnswer(message.payload.length, performance.now());
        yield message;
      }
    },
  };
}
