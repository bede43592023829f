import type { Client, Subscription } from 'aedes';
import type { Logger } from 'pino';
import type { Sessions } from '../delivery/sessions.js';
import { maySubscribe } from '../domain/grants.js';
import type { Connection } from './connection.js';
import { memoryOf } from './intake.js';
import { SESSION_PRESENT } from './persistence.js';
import type { ReadGate } from './read-gate.js';
import type { RefusalReport } from './refusal-report.js';

/** What a filter takes beside its text until its refusal is written down, in each of its copies. */
const BYTES_OF_FILTER = 200;

export interface SubscribeHookOptions {
  readonly connectionOf: (client: Client) => Connection | undefined;
  readonly gateOf: (client: Client) => ReadGate | undefined;
  readonly sessions: Sessions;
  readonly refusals: RefusalReport;
  readonly maxFiltersPerSession: number;
  readonly log: Logger;
}

/** What a SUBSCRIBE consists of; the very array tells it from others. */
type Packet = readonly { readonly topic: string }[];

/** What an UNSUBSCRIBE consists of; the very array tells it from others. */
type Filters = readonly string[];

type Done = (error: Error | null, subscription?: Subscription | null) => void;

/** The filters of one SUBSCRIBE for which the permission is missing. */
interface Refused {
  readonly filters: string[];
  readonly answers: Done[];
}

/**
 * Decides about every filter of a SUBSCRIBE. Aedes asks for each of them before it goes on, and sends
 * SUBACK when all are answered. What is permitted is answered at once; what is refused for want of
 * permission once it stands in the audit trail, however long the store takes.
 */
export class SubscribeHook {
  readonly #options: SubscribeHookOptions;
  readonly #packets = new WeakMap<object, Packet>();
  readonly #refused = new WeakMap<Packet, Refused>();
  /** In which order SUBSCRIBEs and UNSUBSCRIBEs have come. */
  readonly #turns = new WeakMap<Packet | Filters, number>();
  #lastTurn = 0;
  /** Of clean sessions: when each filter was subscribed to last. */
  readonly #subscribedAt = new WeakMap<Client, Map<string, number>>();

  constructor(options: SubscribeHookOptions) {
    this.#options = options;
  }

  /** A SUBSCRIBE has come, of which Aedes is going to ask. */
  came(subscriptions: Packet): void {
    for (const subscription of subscriptions) this.#packets.set(subscription, subscriptions);
    this.#turns.set(subscriptions, ++this.#lastTurn);
  }

  /** An UNSUBSCRIBE has come, of which Aedes is going to tell. */
  unsubscribeCame(filters: Filters): void {
    this.#turns.set(filters, ++this.#lastTurn);
  }

  /**
   * Aedes' `unsubscribe`. It comes some moments after the packet, and must not undo a SUBSCRIBE that has
   * come behind that; and it comes when a clean session ends, whose client id may be another's by then.
   */
  unsubscribed(client: Client, filters: Filters): void {
    const turn = this.#turns.get(filters);
    if (turn === undefined || !client.clean || client.closed) return;
    const subscribedAt = this.#subscribedAt.get(client);
    const ended = filters.filter((filter) => (subscribedAt?.get(filter) ?? 0) < turn);
    for (const filter of ended) subscribedAt?.delete(filter);
    const { sessions, log } = this.#options;
    sessions
      .unsubscribe(client.id, ended)
      .catch((error: unknown) => log.warn({ err: error }, 'subscription not removed'));
  }

  /** Aedes' `authorizeSubscribe`. */
  authorize(client: Client, subscription: Subscription, done: Done): void {
    const { topic } = subscription;
    const connection = this.#options.connectionOf(client);
    if (subscription === SESSION_PRESENT || connection === undefined) {
      done(null, null);
    } else if (this.mayHave(connection, topic)) {
      this.#subscribe(client, subscription);
      done(null, subscription);
    } else if (maySubscribe(connection.principal, topic)) {
      // There is no room for it, or nobody any more: nothing to do with permissions.
      done(null, null);
    } else {
      this.#refuse(connection, subscription, done);
    }
  }

  /** Whether the client may have this subscription. */
  mayHave({ client, principal, destination }: Connection, filter: string): boolean {
    if (client.closed) return false;
    const { subscriptions } = destination;
    const isRoom =
      subscriptions.has(filter) || subscriptions.size < this.#options.maxFiltersPerSession;
    return isRoom && maySubscribe(principal, filter);
  }

  /**
   * A persistent session stores its subscriptions before SUBACK (`BrokerPersistence`). That of a clean
   * one holds at once: what follows the SUBSCRIBE must not overtake it while its refusals are written.
   */
  #subscribe(client: Client, subscription: Subscription): void {
    if (!client.clean) return;
    const { topic, qos } = subscription;
    const { sessions, log } = this.#options;
    const subscribedAt = this.#subscribedAt.get(client) ?? new Map<string, number>();
    this.#subscribedAt.set(client, subscribedAt.set(topic, this.#turnOf(subscription)));
    sessions
      .subscribe(client.id, [{ filter: topic, qos: qos === 0 ? 0 : 1 }])
      .catch((error: unknown) => log.warn({ err: error }, 'subscription not made'));
  }

  #turnOf(subscription: Subscription): number {
    const packet = this.#packets.get(subscription);
    return packet === undefined ? 0 : (this.#turns.get(packet) ?? 0);
  }

  #refuse(connection: Connection, subscription: Subscription, done: Done): void {
    const packet = this.#packets.get(subscription);
    if (packet === undefined) {
      // It is taken up with its session: nobody is told of it.
      done(null, null);
      return;
    }
    const { filters, answers } = this.#refused.get(packet) ?? this.#begin(connection, packet);
    filters.push(subscription.topic);
    answers.push(done);
  }

  /** Aedes asks for all filters of a packet in one go: afterwards they are complete. */
  #begin(connection: Connection, packet: Packet): Refused {
    const refused: Refused = { filters: [], answers: [] };
    this.#refused.set(packet, refused);
    queueMicrotask(() => void this.#tell(connection, packet, refused));
    // What else the client sends, pings or alarms, must not wait for the store.
    setImmediate(() => this.#options.gateOf(connection.client)?.readOn());
    return refused;
  }

  async #tell(
    connection: Connection,
    packet: Packet,
    { filters, answers }: Refused,
  ): Promise<void> {
    const { client, peer } = connection;
    const isOver = () => client.closed || client.conn.destroyed;
    const written = this.#options.refusals.filters(peer, filters, isOver);
    this.#await(connection, packet, written);
    try {
      await written;
    } catch {
      // It is counted there.
      client.close();
      return;
    }
    // Aedes would go on with a client that has gone meanwhile.
    if (isOver()) return;
    for (const answer of answers) answer(null, null);
  }

  /** While the store is away it takes memory, also when the client has gone: it has room as a publish has. */
  #await(connection: Connection, packet: Packet, written: Promise<void>): void {
    const { client, pace } = connection;
    const filterBytes = packet.map(({ topic }) => BYTES_OF_FILTER + Buffer.byteLength(topic));
    connection.waitsFor(written, memoryOf(filterBytes.reduce((one, other) => one + other, 0)));
    const gate = this.#options.gateOf(client);
    if (!pace.keeps(false)) client.close();
    else if (gate !== undefined) pace.check(gate, false);
  }
}
