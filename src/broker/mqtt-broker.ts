import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Aedes, type Client, type PublishPacket } from 'aedes';
import type { RedisPersistence } from 'aedes-persistence-redis';
import type { Logger } from 'pino';
import type { RetainedMessages } from '../delivery/retained-messages.js';
import type { Router } from '../delivery/router.js';
import type { Sessions } from '../delivery/sessions.js';
import type { Commands } from '../ingest/commands.js';
import type { DevicePublishes } from '../ingest/device-publishes.js';
import type { Presence } from '../ingest/presence.js';
import type { AccessTokens } from '../site/access-tokens.js';
import type { AuthenticationRefusals } from '../site/authentication-refusals.js';
import type { Devices } from '../site/devices.js';
import type { PermissionRefusals } from '../site/permission-refusals.js';
import type { SiteModel } from '../site/site-model.js';
import type { ConnectRequest } from './authentication.js';
import { Authentication, Refusal } from './authentication.js';
import type { Connection } from './connection.js';
import { FailedLogins } from './failed-logins.js';
import { IncomingReceipts } from './incoming-receipts.js';
import { BYTES_OF_CONNECTION, Intake } from './intake.js';
import { guardPackets } from './packet-guard.js';
import { BrokerPersistence } from './persistence.js';
import { PublishHook } from './publish-hook.js';
import { ReadGate } from './read-gate.js';
import { claimedId, RefusalReport } from './refusal-report.js';
import { SubscribeHook } from './subscribe-hook.js';

const MAX_FILTERS_PER_PACKET = 1_000;
const MAX_CLIENT_ID_BYTES = 256;
const CONNECT_TIMEOUT_MS = 10_000;
/** Aedes' own dispatch carries only its `$SYS` topics, but must never be the bottleneck (10). */
const CONCURRENCY = 10_000;
/** Restored sessions bring their filters before CONNACK; a client may send as much at once. */
const QUEUE_LIMIT = 1_000;
const MAX_LOGGED_FILTERS = 10;
/** The SUBACK code of a filter that is refused (MQTT 3.1.1, 3.9.3). */
const FAILURE = 0x80;
/** The CONNACK code of success (MQTT 3.1.1, 3.2.2.3). */
const ACCEPTED = 0;

export interface MqttBrokerOptions {
  readonly devices: Devices;
  readonly accessTokens: AccessTokens;
  readonly model: SiteModel;
  readonly sessions: Sessions;
  readonly router: Router;
  readonly retained: RetainedMessages;
  readonly publishes: DevicePublishes;
  readonly commands: Commands;
  readonly presence: Presence;
  readonly stored: RedisPersistence;
  readonly permissionRefusals: PermissionRefusals;
  readonly authenticationRefusals: AuthenticationRefusals;
  readonly maxPacketBytes: number;
  readonly maxKeepAliveSeconds: number;
  readonly maxFiltersPerSession: number;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * The MQTT side. Aedes speaks the protocol: CONNECT, SUBSCRIBE, keep-alive, QoS 2. What is published
 * goes into our message path (`PublishHook`), and what is forwarded comes from our destinations
 * (`ClientReceiver`); Aedes itself forwards nothing to anyone.
 */
export class MqttBroker {
  readonly #options: MqttBrokerOptions;
  readonly #aedes: Aedes;
  readonly #persistence: BrokerPersistence;
  readonly #authentication: Authentication;
  readonly #subscribeHook: SubscribeHook;
  readonly #intake = new Intake();
  readonly #requests = new WeakMap<Client, ConnectRequest>();
  readonly #connections = new WeakMap<object, Connection>();
  readonly #gates = new WeakMap<Client, ReadGate>();
  /** By client id. */
  readonly #open = new Map<string, Connection>();
  /** Authenticated, and the network connection has not ended. */
  readonly #admitted = new Set<Connection>();

  constructor(options: MqttBrokerOptions) {
    this.#options = options;
    const refusals = new RefusalReport(options);
    const failedLogins = new FailedLogins(options.now);
    this.#authentication = new Authentication({
      ...options,
      refusals,
      failedLogins,
      intake: this.#intake,
    });
    const connectionOf = (client: Client) => this.#connections.get(client);
    const gateOf = (client: Client) => this.#gates.get(client);
    const subscribeHook = new SubscribeHook({ ...options, refusals, connectionOf, gateOf });
    this.#subscribeHook = subscribeHook;
    const hook = new PublishHook({
      ...options,
      ...{ refusals, connectionOf, gateOf },
      receipts: new IncomingReceipts(options.stored),
      isLeftWill: (packet) => this.#isLeftWill(packet),
    });
    this.#persistence = new BrokerPersistence({
      ...options,
      isAdmitted: (client) => this.#connections.has(client),
      isGranted: (clientId, filter) => this.#isGranted(clientId, filter),
      onReleasing: (clientId, answer) => {
        const client = this.#open.get(clientId)?.client;
        if (client !== undefined) hook.releasing(client, answer);
      },
      onReleased: (clientId, messageId) => this.#open.get(clientId)?.released(messageId),
    });
    this.#aedes = new Aedes({
      // No `id`: a fixed one corrupts what is stored after a restart (DEPENDENCY-FAULTS 4).
      persistence: this.#persistence,
      concurrency: CONCURRENCY,
      queueLimit: QUEUE_LIMIT,
      connectTimeout: CONNECT_TIMEOUT_MS,
      preConnect: (client, packet, done) => {
        this.#requests.set(client, {
          address: addressOf(client),
          isClientIdEmpty: packet.clientId === '',
          isPersistent: packet.clean !== true,
          keepAliveSeconds: packet.keepalive ?? 0,
          willTopic: packet.will?.topic,
        });
        done(null, !client.closed);
      },
      authenticate: (client, username, password, done) => {
        this.#authenticate(client, username, password).then(
          () => done(null, true),
          (error) => {
            this.#logRefusal(client, username, error);
            done(error, null);
          },
        );
      },
      authorizePublish: (client, packet, done) => hook.authorize(client, packet, done),
      authorizeSubscribe: (client, subscription, done) =>
        subscribeHook.authorize(client, subscription, done),
      // Destinations deliver; see the class comment.
      authorizeForward: () => null,
    });
  }

  /** Prepares for connections (`handle`). */
  async start(): Promise<void> {
    const { log, presence } = this.#options;
    // Not `clientReady`, which comes some moments after CONNACK: a SUBSCRIBE may come before it.
    this.#aedes.on('connackSent', ({ returnCode }, client) => {
      if (returnCode === ACCEPTED) this.#opened(client);
    });
    this.#aedes.on('clientDisconnect', (client) => this.#closed(client));
    this.#aedes.on('subscribe', (subscriptions, client) => this.#subscribed(subscriptions, client));
    this.#aedes.on('unsubscribe', (filters, client) => {
      this.#subscribeHook.unsubscribed(client, filters);
    });
    this.#aedes.on('ping', (_packet, client) => {
      const principal = this.#connections.get(client)?.principal;
      if (principal?.type === 'device') presence.heardOf(principal.id);
    });
    this.#aedes.on('clientError', (client, error) => {
      // Logged already, with who it was.
      if (error instanceof Refusal) return;
      log.info({ clientId: client.id, reason: error.message }, 'connection ended');
    });
    this.#aedes.on('connectionError', (client, error) => {
      log.info({ address: addressOf(client), reason: error.message }, 'connection refused');
    });
    // Missing from its types (DEPENDENCY-FAULTS 20); without a listener it would end the process.
    const emitter: NodeJS.EventEmitter = this.#aedes;
    emitter.on('error', (error) => log.error({ err: error }, 'broker error'));
    await this.#aedes.listen();
  }

  /** Ends every connection. */
  async stop(): Promise<void> {
    for (const { client } of this.#open.values()) client.close();
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
  }

  /** Serves MQTT on a connection; with `request` when it came over WebSocket. */
  handle(stream: Duplex, request?: IncomingMessage): void {
    const gate = new ReadGate(stream);
    const client = this.#aedes.handle(stream, request);
    this.#gates.set(client, gate);
    guardPackets(client, {
      maxPacketBytes: this.#options.maxPacketBytes,
      maxFiltersPerPacket: MAX_FILTERS_PER_PACKET,
      maxClientIdBytes: MAX_CLIENT_ID_BYTES,
      onSubscribe: (subscriptions) => this.#subscribeHook.came(subscriptions),
      onUnsubscribe: (filters) => this.#subscribeHook.unsubscribeCame(filters),
    });
    // Aedes does not tell of every end: of several connections under one client id it loses sight.
    stream.once('close', () => this.#ended(client));
  }

  /** Closes the connections of a principal (`principalKey`) whose credential has ended. */
  disconnect(owner: string): void {
    for (const connection of this.#admitted) {
      if (connection.owner === owner) connection.endCredential();
    }
  }

  /** Memory that publishes on their way to the store take, about. */
  get unstoredBytes(): number {
    return this.#intake.unstoredBytes;
  }

  /** How many publishes found no room while the store was away, since the start. */
  get unkeptCount(): number {
    return this.#intake.unkeptCount;
  }

  get connectionCount(): number {
    return this.#open.size;
  }

  async #authenticate(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<void> {
    const request = this.#requests.get(client);
    if (request === undefined) throw new Error('no CONNECT');
    const { presence } = this.#options;
    const connection = await this.#authentication.admit(client, request, username, password);
    this.#connections.set(client, connection);
    if (client.closed || client.conn.destroyed) {
      // Given up meanwhile: a clean session must not stay behind.
      this.#closed(client);
      return;
    }
    this.#admitted.add(connection);
    if (connection.principal.type === 'device') presence.connected(connection.principal.id);
  }

  #logRefusal(client: Client, username: string | undefined, error: unknown): void {
    if (!(error instanceof Refusal)) return;
    const who = { address: addressOf(client), clientId: client.id, username: claimedId(username) };
    this.#options.log.info({ ...who, reason: error.message }, 'connection refused');
  }

  #opened(client: Client): void {
    const connection = this.#connections.get(client);
    if (connection === undefined || client.closed) return;
    this.#takeOver(client.id);
    this.#open.set(client.id, connection);
    connection.open();
    connection.waitsFor(this.#persistence.answered(), BYTES_OF_CONNECTION);
    this.#options.log.info({ clientId: client.id, principal: connection.owner }, 'connected');
  }

  /** Ends the connection that has the client id, if Aedes has not yet [MQTT-3.1.4-2]. */
  #takeOver(clientId: string): void {
    const client = this.#open.get(clientId)?.client;
    if (client === undefined) return;
    this.#closed(client);
    client.close();
  }

  /** Called when a connection ends, maybe more than once, and maybe before it was open. */
  #closed(client: Client): void {
    const connection = this.#connections.get(client);
    if (connection === undefined) return;
    const { sessions, log } = this.#options;
    const wasOpen = connection.close();
    sessions.closed(client.id, connection.destination);
    if (!wasOpen) return;
    if (this.#open.get(client.id) === connection) this.#open.delete(client.id);
    log.info({ clientId: client.id, principal: connection.owner }, 'disconnected');
  }

  /** The network connection is gone: only now has a device that came back before no gap. */
  #ended(client: Client): void {
    this.#closed(client);
    const connection = this.#connections.get(client);
    if (connection === undefined || !this.#admitted.delete(connection)) return;
    connection.waitsFor(this.#persistence.answered(), BYTES_OF_CONNECTION);
    const { principal } = connection;
    if (principal.type === 'device') this.#options.presence.disconnected(principal.id);
  }

  #isGranted(clientId: string, filter: string): boolean {
    const connection = this.#open.get(clientId);
    return connection !== undefined && this.#subscribeHook.mayHave(connection, filter);
  }

  /** SUBACK is sent. */
  #subscribed(subscriptions: readonly { topic: string; qos: number }[], client: Client): void {
    const filtersOf = (isOfKind: (qos: number) => boolean) =>
      subscriptions.filter(({ qos }) => isOfKind(qos)).map(({ topic }) => topic);
    this.#logRefusedFilters(
      client,
      filtersOf((qos) => qos >= FAILURE),
    );
    const granted = filtersOf((qos) => qos < FAILURE);
    const { retained, log } = this.#options;
    const destination = this.#connections.get(client)?.destination;
    if (destination === undefined || granted.length === 0) return;
    destination
      .offerRetained(() => retained.matching(granted))
      .catch((error: unknown) => log.warn({ err: error }, 'retained messages not sent'));
  }

  /** One line for a SUBSCRIBE, however many filters it has. */
  #logRefusedFilters(client: Client, filters: readonly string[]): void {
    const principal = this.#connections.get(client)?.owner;
    if (filters.length === 0 || principal === undefined) return;
    const which = { count: filters.length, filters: filters.slice(0, MAX_LOGGED_FILTERS) };
    this.#options.log.info({ clientId: client.id, principal, ...which }, 'subscription refused');
  }

  /** A will bears the id of the broker that stored it; what comes from a client bears none. */
  #isLeftWill(packet: PublishPacket): boolean {
    const brokerId: unknown = Reflect.get(packet, 'brokerId');
    return brokerId !== undefined && brokerId !== this.#aedes.id;
  }
}

function addressOf(client: Client): string {
  const socket = client.req?.socket ?? client.conn;
  const address: unknown = Reflect.get(socket, 'remoteAddress');
  return typeof address === 'string' ? address : 'unknown';
}
