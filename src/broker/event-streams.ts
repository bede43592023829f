import { randomUUID } from 'node:crypto';
import { Feed, type StreamMessage, type StreamOutlet } from '../delivery/feed.js';
import type { DeliveryParts } from '../delivery/open.js';
import { sessionKey } from '../delivery/sessions/session.js';
import type { Principal } from '../domain/grants.js';
import { GatewayError } from '../errors.js';
import type { Foundation } from '../foundation.js';
import type { SiteParts } from '../site/open.js';
import type { Storage } from '../store/open.js';
import type { Counted } from './broker.js';
import { ConnectError } from './connect.js';
import type { ConnectionView } from './connection-list.js';
import { sessionOwner } from './login.js';
import type { BrokerParts } from './open.js';

/** Begins the client ids of streams. The rest is random, so no client has one by chance. */
const CLIENT_ID_PREFIX = 'events-';

/** A request for events: the caller, and which events. */
export interface StreamRequest {
  readonly principal: Principal;
  readonly address: string;
  readonly filters: readonly string[];
  /** The position of the last alarm that the client has; undefined: it has none. */
  readonly after: string | undefined;
}

/** The subscription of one event stream. */
export interface EventSubscription {
  /** Acknowledges messages that the network has taken. */
  taken(messages: readonly StreamMessage[]): void;
  /** Continues to send: the outlet is writable again. */
  wake(): void;
  /** Names the client, because it leaves its messages unread. */
  unread(): void;
  /** Stops sending: the stream has ended. */
  close(): void;
}

/** A stream that counts as a connection. It owes no keep-alive: the outlet watches whether it is read. */
interface OpenStream extends Counted {
  readonly owner: string;
  readonly sessionKey: string;
  readonly outlet: StreamOutlet;
  readonly feed: Feed;
}

/** Opens event streams as clean sessions, within the limits of MQTT connections. */
export class EventStreams {
  readonly #log: Foundation['log'];
  readonly #site: SiteParts;
  readonly #storage: Storage;
  readonly #delivery: DeliveryParts;
  readonly #brokers: BrokerParts;
  readonly #streams = new Set<OpenStream>();
  #isStopped = false;

  constructor(
    { log }: Foundation,
    storage: Storage,
    site: SiteParts,
    delivery: DeliveryParts,
    brokers: BrokerParts,
  ) {
    this.#log = log;
    this.#storage = storage;
    this.#site = site;
    this.#delivery = delivery;
    this.#brokers = brokers;
  }

  /** @throws GatewayError `too-many-requests`, `not-ready` */
  open(request: StreamRequest, outlet: StreamOutlet): EventSubscription {
    if (this.#isStopped) throw new GatewayError('not-ready', 'The gateway is stopping.');
    const { principal, filters, after } = request;
    this.#requireRoom(principal, filters.length);
    const { sessions, router, retained } = this.#delivery;
    const owner = sessionOwner(principal);
    const clientId = CLIENT_ID_PREFIX + randomUUID();
    const feed = new Feed({
      sessions,
      router,
      owner,
      clientId,
      filters,
      outlet,
      reader: this.#storage.history,
      storeIdentity: this.#storage.identity,
      retained,
      log: this.#log,
    });
    const end = () => outlet.end();
    const counted = { keepAliveMs: Number.POSITIVE_INFINITY, silentMs: 0, timeOut: end };
    const key = sessionKey(owner.key, clientId);
    const claims = { owner: owner.key, sessionKey: key };
    const stream = { ...counted, ...claims, endCredential: end, outlet, feed };
    this.#count(stream, principal);
    this.#streams.add(stream);
    this.#brokers.broker.show(key, () => viewOf(clientId, request, feed));
    void feed.start(after);
    return {
      taken: (messages) => feed.taken(messages),
      wake: () => feed.wake(),
      unread: () => this.#site.watch.exceeded('unread-bytes', owner.key),
      close: () => this.#closed(stream),
    };
  }

  /** Ends all streams and opens no more. */
  stop(): void {
    this.#isStopped = true;
    for (const { outlet } of this.#streams) outlet.end();
  }

  #closed(stream: OpenStream): void {
    if (!this.#streams.delete(stream)) return;
    stream.feed.close();
    this.#brokers.broker.hide(stream.sessionKey);
    this.#brokers.broker.uncount(stream);
  }

  /** Counts the stream as a connection of its token. */
  #count(stream: OpenStream, principal: Principal): void {
    const quotas = this.#site.limits[principal.type];
    try {
      this.#brokers.broker.count(stream, stream.owner, stream.sessionKey, quotas);
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      throw new GatewayError('too-many-requests', error.message);
    }
  }

  /** Holds the token to its rate of connecting, and to its subscriptions. */
  #requireRoom(principal: Principal, filterCount: number): void {
    const { key } = sessionOwner(principal);
    const { watch, limits } = this.#site;
    const held = this.#delivery.sessions
      .ofOwner(key)
      .reduce((sum, { consumer }) => sum + (consumer?.subscriptions.size ?? 0), 0);
    if (held + filterCount > limits[principal.type].subscriptions) {
      watch.exceeded('subscriptions', key);
      throw new GatewayError(
        'too-many-requests',
        'The access token has as many subscriptions as it may have (10,000).',
      );
    }
    const flow = this.#brokers.flows.of(principal);
    if (flow.freeAtMs > performance.now()) {
      throw new GatewayError(
        'too-many-requests',
        'The access token sends more than it may (limits.token.messagesPerSecond).',
      );
    }
    flow.countPacket(0, performance.now());
  }
}

/** A stream as shown in the list of connections. */
function viewOf(
  clientId: string,
  { principal, address }: StreamRequest,
  { consumer }: Feed,
): Omit<ConnectionView, 'since'> {
  const { alarms = 0, messages = 0 } = consumer?.queued ?? {};
  return {
    clientId,
    principal: { type: 'access-token', id: principal.id },
    address,
    protocol: 'sse',
    mqttVersion: null,
    keepAliveSeconds: null,
    backlog: { alarms, messages },
    slowed: null,
  };
}
