import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Aedes, type Client, type PublishPacket } from 'aedes';
import type { RedisPersistence } from 'aedes-persistence-redis';
import { writeToStream } from 'mqtt-packet';
import type { Logger } from 'pino';
import type { Deliveries } from '../delivery/deliveries.js';
import type { RetainedMessages } from '../delivery/retained-messages.js';
import type { Session } from '../delivery/session.js';
import type { Sessions } from '../delivery/sessions.js';
import { isLoopbackAddress } from '../domain/addresses.js';
import type { Principal } from '../domain/grants.js';
import type { BudgetLimits, ConnectionQuotas } from '../domain/limits.js';
import { systemErrorCode } from '../errors.js';
import type { Commands } from '../ingest/commands.js';
import type { DevicePublishes } from '../ingest/device-publishes.js';
import type { Presence } from '../ingest/presence.js';
import type { AccessTokens } from '../site/access-tokens.js';
import type { ConnectionList } from '../site/connection-list.js';
import type { Denials } from '../site/denials.js';
import type { Devices } from '../site/devices.js';
import type { FailedLogins } from '../site/failed-logins.js';
import type { Health } from '../site/health.js';
import type { KnownNetworks } from '../site/known-networks.js';
import { Principals } from '../site/principals.js';
import type { QuotaWatch } from '../site/quota-watch.js';
import type { SiteModel } from '../site/site-model.js';
import { Authentication } from './authentication.js';
import { Budgets } from './budgets.js';
import { ClientIds } from './client-ids.js';
import { ConnectError, connectErrorOf } from './connect-errors.js';
import type { Connection } from './connection.js';
import { ConnectionDenials } from './connection-denials.js';
import { ConnectionQuota } from './connection-quota.js';
import { KeepAlive } from './keep-alive.js';
import { addressOf, type ClientParts, MqttClient } from './mqtt-client.js';
import { OpenConnections } from './open-connections.js';
import { ReadTurns } from './packet-reader.js';
import { BrokerPersistence } from './persistence.js';
import { Publishing } from './publishing.js';
import { Releasing } from './releasing.js';
import { SilentConnections } from './silent-connections.js';
import { SlowedFaults } from './slowed-faults.js';
import { Slowing } from './slowing.js';
import { Subscribing } from './subscribing.js';
import { BackPressure } from './unstored-publishes.js';
import { Wills } from './wills.js';

const MAX_FILTERS_PER_PACKET = 1_000;
const MAX_CLIENT_ID_BYTES = 256;
const CONNECT_TIMEOUT_MS = 10_000;
/** The CONNACK code of success (MQTT 3.1.1, 3.2.2.3). */
const ACCEPTED = 0;
/** Memory of a connection until the store has answered, at its beginning and again at its end. */
const BYTES_OF_CONNECTION = 24 * 1024;

export interface MqttBrokerOptions {
  readonly devices: Devices;
  readonly accessTokens: AccessTokens;
  readonly model: SiteModel;
  readonly sessions: Sessions;
  readonly deliveries: Deliveries;
  readonly retained: RetainedMessages;
  readonly publishes: DevicePublishes;
  readonly commands: Commands;
  readonly presence: Presence;
  readonly stored: RedisPersistence;
  readonly denials: Denials;
  readonly failedLogins: FailedLogins;
  readonly knownNetworks: KnownNetworks;
  /** How long the message path has waited for an answer of the store, in milliseconds. */
  readonly unansweredMs: () => number;
  readonly maxPacketBytes: number;
  readonly maxKeepAliveSeconds: number;
  readonly maxFiltersPerSession: number;
  readonly limits: BudgetLimits;
  readonly health: Health;
  readonly maxConnections: number;
  readonly quotasOf: (principal: Principal) => ConnectionQuotas;
  readonly watch: QuotaWatch;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Speaks MQTT with clients.
 *
 * Aedes handles CONNECT, PINGREQ and DISCONNECT and keeps wills; publishes go into the message
 * path, subscriptions into sessions (`MqttClient`), and our consumers send the forwarded messages.
 * Aedes itself forwards nothing to anyone.
 */
export class MqttBroker {
  readonly #options: MqttBrokerOptions;
  readonly #aedes: Aedes;
  readonly #persistence: BrokerPersistence;
  readonly #authentication: Authentication;
  readonly #clientParts: ClientParts;
  readonly #backPressure: BackPressure;
  readonly #budgets: Budgets;
  readonly #slowing: Slowing;
  readonly #slowedFaults: SlowedFaults;
  readonly #keepAlive = new KeepAlive();
  readonly #clients = new WeakMap<Client, MqttClient>();
  readonly #denials: ConnectionDenials;
  readonly #open: OpenConnections;
  readonly #quota: ConnectionQuota;
  readonly #silent: SilentConnections;
  /** Authenticated connections whose network connection has not ended. */
  readonly #admitted = new Set<Connection>();

  constructor(options: MqttBrokerOptions) {
    this.#options = options;
    const { model, accessTokens } = options;
    const isKnown = (id: string) =>
      model.device(id) !== undefined || accessTokens.owner(id) !== undefined;
    const denials = new ConnectionDenials({ ...options, isKnown });
    this.#denials = denials;
    this.#open = new OpenConnections(options.now);
    const publishing = new Publishing({ ...options, denials });
    this.#backPressure = new BackPressure(options.unansweredMs);
    this.#budgets = new Budgets(options.limits, model);
    this.#slowing = new Slowing(options.now);
    this.#slowedFaults = new SlowedFaults(this.#slowing, options);
    const { maxConnections: total, watch } = options;
    this.#quota = new ConnectionQuota({ total, watch, isExempt: isLoopbackAddress });
    this.#silent = new SilentConnections({
      ...{ quota: this.#quota, timeoutMs: CONNECT_TIMEOUT_MS },
      onTimeout: (address) => {
        denials.connect({ address, claims: undefined }, new ConnectError('no-connect'));
      },
    });
    const principals = new Principals(model, accessTokens);
    this.#authentication = new Authentication({
      ...options,
      connections: this.#quota,
      clientIds: new ClientIds({ ...options, principals }),
      ...{ isKnown, backPressure: this.#backPressure },
      ...{ budgets: this.#budgets, slowing: this.#slowing },
    });
    this.#clientParts = {
      limits: {
        maxPacketBytes: options.maxPacketBytes,
        maxFiltersPerPacket: MAX_FILTERS_PER_PACKET,
        maxClientIdBytes: MAX_CLIENT_ID_BYTES,
      },
      turns: new ReadTurns(options.deliveries),
      handlers: {
        publishing,
        subscribing: new Subscribing({ ...options, denials }),
        releasing: new Releasing(options.sessions, options.log),
      },
    };
    this.#persistence = new BrokerPersistence(options);
    this.#aedes = this.#createAedes(new Wills({ ...options, publishing }));
  }

  /** Prepares for connections (`handle`). */
  async start(): Promise<void> {
    const { log } = this.#options;
    // Not `clientReady`, which comes some moments after CONNACK: a SUBSCRIBE may arrive earlier.
    this.#aedes.on('connackSent', ({ returnCode }, client) => {
      if (returnCode === ACCEPTED) this.#opened(client);
    });
    this.#aedes.on('clientDisconnect', (client) => this.#closed(client));
    this.#aedes.on('clientError', (client, error) => {
      // Logged already, with the client's identity.
      if (error instanceof ConnectError) return;
      const { clientId = client.id } = this.#connectionOf(client)?.session ?? {};
      const address = this.#clients.get(client)?.address;
      log.info({ clientId, address, reason: error.message }, 'connection ended');
    });
    this.#aedes.on('connectionError', (client, error) => this.#connectFailed(client, error));
    // Missing from the types of Aedes (DEPENDENCY-FAULTS 20); an unheard error would end the
    // process.
    const emitter: NodeJS.EventEmitter = this.#aedes;
    emitter.on('error', (error) => log.error({ part: 'mqtt', err: error }, 'broker error'));
    await this.#aedes.listen();
    this.#keepAlive.start();
    this.#slowedFaults.start();
  }

  /** Ends every connection. */
  async stop(): Promise<void> {
    this.#keepAlive.stop();
    this.#backPressure.stop();
    this.#slowedFaults.stop();
    this.#slowing.stop();
    this.#silent.stop();
    for (const { client } of this.#open.all()) client.close();
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
  }

  /** Serves MQTT on a connection; with `request` when it came over WebSocket. */
  handle(stream: Duplex, request?: IncomingMessage): void {
    const serve = () => this.#serve(stream, request);
    this.#silent.wait(stream, addressOf(stream, request), serve);
  }

  #serve(stream: Duplex, request: IncomingMessage | undefined): void {
    const client = this.#aedes.handle(stream, request);
    const mqttClient = new MqttClient(this.#clientParts, client, request);
    this.#clients.set(client, mqttClient);
    this.#quota.arrived(mqttClient);
    // Aedes does not report every end: it loses sight of several connections under one client id.
    stream.once('close', () => this.#ended(client, mqttClient));
    // The first bytes came before Aedes and the client's reader listened, and both begin with this event.
    stream.emit('readable');
  }

  /** Closes the connections of a principal (`principalKey`) whose credential has ended. */
  disconnect(owner: string): void {
    for (const connection of this.#admitted) {
      if (connection.owner === owner) connection.endCredential();
    }
  }

  /** Forgets a principal (`principalKey`) that is gone. */
  forget(owner: string): void {
    this.#budgets.forget(owner);
  }

  /** How many principals are read later than they send. */
  get slowedCount(): number {
    return this.#slowing.all().length;
  }

  /** How often a connection was held back, since the start. */
  get heldBackCount(): number {
    return this.#slowing.times;
  }

  /** Estimated memory of publishes on their way to the store. */
  get unstoredBytes(): number {
    return this.#backPressure.unstoredBytes;
  }

  /** How many publishes found no room while the store was away, since the start. */
  get unkeptCount(): number {
    return this.#backPressure.unkeptCount;
  }

  get connectionCount(): number {
    return this.#open.size;
  }

  /** The open connections, and the newest denials. */
  get connections(): ConnectionList {
    return {
      page: (limit, from) => this.#open.page(limit, from),
      denied: () => this.#denials.newest(),
    };
  }

  #createAedes(wills: Wills): Aedes {
    // It writes CONNACK and PINGRESP only: not worth a buffer for each of 65,536 numbers, 7 MB in all.
    writeToStream.cacheNumbers = false;
    return new Aedes({
      // No `id`: a fixed one corrupts what is stored after a restart (DEPENDENCY-FAULTS 4).
      persistence: this.#persistence,
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Aedes would hold clients of MQTT 3.1 to 23 characters [MQTT 3.1, 3.1].
      maxClientsIdLength: MAX_CLIENT_ID_BYTES,
      preConnect: (client, _packet, done) => done(null, !client.closed),
      authenticate: (client, username, password, done) => {
        this.#authenticate(client, username, password).then(
          () => done(null, true),
          (error) => {
            if (error instanceof ConnectError) this.#connectFailed(client, error);
            // Aedes answers no client that is closed.
            if (error instanceof ConnectError && error.returnCode === null) client.close();
            done(error, null);
          },
        );
      },
      // Aedes sees no publishes but wills, and no subscriptions (`MqttClient`).
      authorizePublish: (client, will, done) => {
        const isLeft = client === null || this.#isLeftWill(will);
        wills.take(isLeft ? undefined : this.#connectionOf(client), will);
        will.retain = false;
        will.qos = 0;
        done(null);
      },
      authorizeSubscribe: (_client, _subscription, done) => done(null, null),
      authorizeForward: () => null,
    });
  }

  /** Whether an earlier run left the will: then it bears the id of the broker that stored it. */
  #isLeftWill(will: PublishPacket): boolean {
    const brokerId: unknown = Reflect.get(will, 'brokerId');
    return brokerId !== undefined && brokerId !== this.#aedes.id;
  }

  #connectionOf(client: Client): Connection | undefined {
    return this.#clients.get(client)?.connection;
  }

  async #authenticate(
    client: Client,
    username: string | undefined,
    password: Buffer | undefined,
  ): Promise<void> {
    const mqttClient = this.#clients.get(client);
    const request = mqttClient?.request;
    if (mqttClient === undefined || request === undefined)
      throw new TypeError('authentication without CONNECT');
    const connection = await this.#authentication.admit(
      ...([client, mqttClient, request, username, password] as const),
    );
    // From here on Aedes knows the client by its session: client ids are name spaces of principals.
    client.id = connection.session.key;
    mqttClient.admitted(connection);
    if (client.closed || client.conn.destroyed) {
      // The client has gone meanwhile: its clean session must go too.
      this.#closed(client);
      return;
    }
    this.#admitted.add(connection);
    const { principal } = connection;
    if (principal.type === 'device') this.#options.presence.connected(principal.id, mqttClient);
  }

  #connectFailed(client: Client, error: Error): void {
    const mqttClient = this.#clients.get(client);
    if (mqttClient === undefined) return;
    if (systemErrorCode(error) === undefined) {
      this.#denials.connect(mqttClient, connectErrorOf(error));
      return;
    }
    const { address } = mqttClient;
    this.#options.log.info({ address, reason: error.message }, 'connection ended');
  }

  #opened(client: Client): void {
    const mqttClient = this.#clients.get(client);
    const connection = mqttClient?.connection;
    if (mqttClient === undefined || connection === undefined || client.closed) return;
    this.#takeOver(connection.session);
    this.#open.add(connection);
    this.#keepAlive.watch(mqttClient);
    connection.open();
    connection.share.takeUntil(this.#persistence.answered(), BYTES_OF_CONNECTION);
    const { clientId } = connection.session;
    this.#options.log.info({ clientId, principal: connection.owner }, 'connected');
    mqttClient.opened();
    // Aedes would say so at the end of its queue (`outgoingStream`), and holds PINGREQ and DISCONNECT
    // until then.
    process.nextTick(() => client.emit('connected'));
  }

  /** Ends the connection that has the session, if Aedes has not yet [MQTT-3.1.4-2]. */
  #takeOver({ key }: Session): void {
    const client = this.#open.get(key)?.client;
    if (client === undefined) return;
    this.#closed(client);
    client.close();
  }

  /** Closes a connection, maybe more than once, and maybe before it was open. */
  #closed(client: Client): void {
    const connection = this.#connectionOf(client);
    if (connection === undefined) return;
    const { sessions, log } = this.#options;
    const wasOpen = connection.close();
    sessions.closed(connection.session);
    if (!wasOpen) return;
    this.#open.remove(connection);
    const { clientId } = connection.session;
    log.info({ clientId, principal: connection.owner }, 'disconnected');
  }

  /** Handles the end of a network connection; a device that came back before shows no gap. */
  #ended(client: Client, mqttClient: MqttClient): void {
    mqttClient.ended();
    this.#keepAlive.leave(mqttClient);
    this.#quota.left(mqttClient);
    this.#closed(client);
    const { connection } = mqttClient;
    if (connection === undefined || !this.#admitted.delete(connection)) return;
    connection.share.takeUntil(this.#persistence.answered(), BYTES_OF_CONNECTION);
    const { principal } = connection;
    if (principal.type === 'device') this.#options.presence.disconnected(principal.id, mqttClient);
  }
}
