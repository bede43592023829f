import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Aedes, Client, PublishPacket } from 'aedes';
import type { Logger } from 'pino';
import type { Session } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import { systemErrorCode } from '../errors.js';
import type { Presence } from '../ingest/presence.js';
import type { ConnectionList, DeniedReason } from '../site/access/connection-list.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import type { Authentication } from './admission/authentication.js';
import { ConnectError, connectErrorOf } from './admission/connect-errors.js';
import type { ConnectionDenials } from './admission/connection-denials.js';
import type { ConnectionQuota } from './admission/connection-quota.js';
import { type NetworkPeer, peerOf } from './admission/network-peer.js';
import { OpenConnections } from './admission/open-connections.js';
import { UnidentifiedConnections } from './admission/unidentified-connections.js';
import { createAedes } from './aedes-broker.js';
import type { Connection } from './connection.js';
import { KeepAlive } from './keep-alive.js';
import { type ClientParts, MqttClient } from './mqtt-client.js';
import type { BrokerPersistence } from './persistence.js';
import type { Wills } from './wills.js';
import { ReadToEnd } from './wire/read-to-end.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** The CONNACK code of success (MQTT 3.1.1, 3.2.2.3). */
const ACCEPTED = 0;

export interface MqttBrokerOptions {
  readonly authentication: Authentication;
  readonly persistence: BrokerPersistence;
  readonly wills: Wills;
  /** For every client. */
  readonly clientParts: ClientParts;
  readonly quota: ConnectionQuota;
  readonly watch: QuotaWatch;
  readonly denials: ConnectionDenials;
  readonly sessions: Sessions;
  readonly presence: Presence;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Speaks MQTT with clients.
 *
 * Aedes handles CONNECT and DISCONNECT and keeps wills; publishes go into the message path, subscriptions
 * into sessions (`MqttClient`), and our consumers send the forwarded messages.
 * Aedes itself forwards nothing to anyone.
 */
export class MqttBroker {
  readonly #options: MqttBrokerOptions;
  readonly #aedes: Aedes;
  readonly #keepAlive = new KeepAlive();
  readonly #clients = new WeakMap<Client, MqttClient>();
  readonly #webSockets = new WeakMap<IncomingMessage, MqttClient>();
  readonly #open: OpenConnections;
  readonly #unidentified: UnidentifiedConnections;
  /** Authenticated connections whose network connection has not ended. */
  readonly #admitted = new Set<Connection>();

  constructor(options: MqttBrokerOptions) {
    this.#options = options;
    const { clientParts, quota, watch, denials, now } = options;
    this.#open = new OpenConnections(now);
    this.#unidentified = new UnidentifiedConnections({
      quota,
      watch,
      maxPacketBytes: clientParts.maxPacketBytes,
      timeoutMs: CONNECT_TIMEOUT_MS,
      onTimeout: (address) => {
        denials.connect({ address, request: undefined }, new ConnectError('no-connect'));
      },
    });
    this.#aedes = createAedes({
      persistence: options.persistence,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      authenticate: (client, password) => this.#admitOrClose(client, password),
      takeWill: (client, will) => this.#takeWill(client, will),
    });
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
      const connection = this.#connectionOf(client);
      if (connection !== undefined && systemErrorCode(error) === undefined) {
        this.#options.denials.ended(connection.peer, endOf(error), error.message);
        return;
      }
      const { clientId = client.id } = connection?.session ?? {};
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
  }

  /** Ends every connection, with and without a CONNACK. */
  async stop(): Promise<void> {
    this.#keepAlive.stop();
    for (const { client } of this.#open.all()) client.close();
    this.#options.quota.dropAll();
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
  }

  /** Serves MQTT on a connection; with `request` when it came over WebSocket. */
  handle(stream: Duplex, request?: IncomingMessage): void {
    const peer = peerOf(stream, request);
    const serve = (connectBytes: number) => this.#serve(stream, peer, connectBytes, request);
    this.#unidentified.wait(stream, peer.address, serve);
  }

  #serve(
    socket: Duplex,
    peer: NetworkPeer,
    connectBytes: number,
    request: IncomingMessage | undefined,
  ): void {
    const stream = new ReadToEnd(socket);
    const client = this.#aedes.handle(stream, request);
    const mqttClient = new MqttClient(this.#options.clientParts, client, peer, connectBytes);
    this.#clients.set(client, mqttClient);
    if (request !== undefined) this.#webSockets.set(request, mqttClient);
    this.#options.quota.arrived(mqttClient);
    // Aedes does not report every end: it loses sight of several connections under one client id.
    stream.once('close', () => this.#ended(client, mqttClient));
  }

  /** Ends the connections and event streams of a principal (`principalKey`) whose credential has ended. */
  disconnect(owner: string): void {
    for (const connection of this.#admitted) {
      if (connection.owner === owner) connection.endCredential();
    }
    // A client whose CONNECT is held back was authenticated with that credential (`Slowing`).
    this.#options.quota.dropAllOf(owner);
  }

  /**
   * Takes note of a connection that its listener has ended.
   *
   * @param request the HTTP request of a WebSocket
   */
  refused(address: string, error: ConnectError, request?: IncomingMessage): void {
    const client = request && this.#webSockets.get(request);
    const { denials } = this.#options;
    if (client?.connection !== undefined) denials.ended(client.connection.peer, error.code);
    else denials.connect(client ?? { address, request: undefined }, error);
  }

  /** How many are connected, event streams included. */
  get connectionCount(): number {
    return this.#open.size;
  }

  /** Where event streams are listed beside the connections. */
  get streams(): Pick<OpenConnections, 'addStream' | 'removeStream'> {
    return this.#open;
  }

  /** The open connections, and the newest denials. */
  get connections(): ConnectionList {
    return {
      page: (limit, from) => this.#open.page(limit, from),
      denied: () => this.#options.denials.newest(),
    };
  }

  async #admitOrClose(client: Client, password: Buffer | undefined): Promise<void> {
    try {
      await this.#authenticate(client, password);
    } catch (error) {
      if (error instanceof ConnectError) this.#connectFailed(client, error);
      // Aedes answers no client that is closed.
      if (error instanceof ConnectError && error.returnCode === null) client.close();
      throw error;
    }
  }

  #takeWill(client: Client, will: PublishPacket): void {
    const connection = this.#connectionOf(client);
    if (connection !== undefined) this.#options.wills.take(connection, will);
  }

  #connectionOf(client: Client): Connection | undefined {
    return this.#clients.get(client)?.connection;
  }

  async #authenticate(client: Client, password: Buffer | undefined): Promise<void> {
    const mqttClient = this.#clients.get(client);
    const request = mqttClient?.request;
    if (mqttClient === undefined || request === undefined)
      throw new TypeError('authentication without CONNECT');
    const { authentication } = this.#options;
    const connection = await authentication.admit(client, mqttClient, request, password);
    // From here on Aedes knows the client by its session: client ids are name spaces of principals.
    client.id = connection.session.key;
    mqttClient.admitted(connection);
    if (client.closed || client.conn.destroyed) {
      // The client has gone meanwhile: its clean session must go too.
      this.#closed(client);
      return;
    }
    this.#admitted.add(connection);
    const before = this.#open.get(connection.session.key);
    if (before !== undefined) this.#options.denials.ended(before.peer, 'taken-over');
    const { principal } = connection;
    if (principal.type === 'device') this.#options.presence.connected(principal.id, mqttClient);
  }

  #connectFailed(client: Client, error: Error): void {
    const mqttClient = this.#clients.get(client);
    if (mqttClient === undefined) return;
    if (systemErrorCode(error) === undefined) {
      this.#options.denials.connect(mqttClient, connectErrorOf(error));
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
    const { clientId } = connection.session;
    this.#options.log.info({ clientId, principal: connection.owner }, 'connected');
    mqttClient.opened();
    // Aedes would say so at the end of its queue (`outgoingStream`), and holds DISCONNECT
    // until then.
    process.nextTick(() => client.emit('connected'));
  }

  /** Ends the connection that has the session, if Aedes has not yet [MQTT-3.1.4-2]. */
  #takeOver({ key }: Session): void {
    const before = this.#open.get(key);
    if (before === undefined) return;
    this.#closed(before.client);
    before.client.close();
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
    this.#options.quota.left(mqttClient);
    this.#closed(client);
    const { connection } = mqttClient;
    if (connection === undefined || !this.#admitted.delete(connection)) return;
    const { principal } = connection;
    if (principal.type === 'device') this.#options.presence.disconnected(principal.id, mqttClient);
  }
}

/** In the words of `MqttClient.timeOut`. */
const KEEP_ALIVE_TIMEOUT = 'keep alive timeout';

/** Why an error ends a connection. */
function endOf({ message }: Error): DeniedReason {
  return message === KEEP_ALIVE_TIMEOUT ? 'keep-alive-timeout' : 'malformed-packet';
}
