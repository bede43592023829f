import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Aedes } from 'aedes';
import type { Logger } from 'pino';
import type { Session } from '../delivery/sessions/session.js';
import type { Sessions } from '../delivery/sessions/sessions.js';
import type { Hubs } from '../ingest/hubs.js';
import type { Presence } from '../ingest/presence.js';
import { PacketError, type Refusal, SERVER_SHUTTING_DOWN } from '../mqtt/codes.js';
import type { ConnectPacket } from '../mqtt/packets.js';
import { ReadToEnd } from '../network/socket-front.js';
import type { ConnectionList } from '../site/access/connection-list.js';
import type { QuotaWatch } from '../site/access/quota-watch.js';
import type { Authentication } from './admission/authentication.js';
import { connackProperties } from './admission/connack-properties.js';
import { ConnectError } from './admission/connect-errors.js';
import type { ConnectRequest } from './admission/connect-request.js';
import {
  type ConnectionDenials,
  endOf,
  type UnconnectedPeer,
} from './admission/connection-denials.js';
import type { ConnectionQuota } from './admission/connection-quota.js';
import { peerOf } from './admission/network-peer.js';
import { OpenConnections } from './admission/open-connections.js';
import { UnidentifiedConnections } from './admission/unidentified-connections.js';
import { AedesPipe, createAedes } from './aedes-broker.js';
import type { ClientParts } from './client-parts.js';
import type { Connection } from './connection.js';
import { KeepAlive } from './keep-alive.js';
import { type ClientOwner, MqttClient } from './mqtt-client.js';
import type { Wills } from './wills.js';

const CONNECT_TIMEOUT_MS = 10_000;
const SHUTTING_DOWN: Refusal = {
  reasonCode: SERVER_SHUTTING_DOWN,
  reason: 'The gateway is shutting down.',
};

export interface MqttBrokerOptions {
  readonly authentication: Authentication;
  readonly wills: Wills;
  /** Shared by all clients. */
  readonly clientParts: ClientParts;
  readonly quota: ConnectionQuota;
  readonly watch: QuotaWatch;
  readonly denials: ConnectionDenials;
  readonly sessions: Sessions;
  readonly presence: Presence;
  readonly hubs: Hubs;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Speaks MQTT with clients.
 *
 * Aedes registers one client per session, and keeps its will until it ends. Publishes go into the message path,
 * subscriptions into sessions (`MqttClient`), and our consumers send the forwarded messages.
 */
export class MqttBroker implements ClientOwner {
  readonly #options: MqttBrokerOptions;
  readonly #aedes: Aedes = createAedes();
  readonly #keepAlive = new KeepAlive();
  readonly #pipes = new WeakMap<MqttClient, AedesPipe>();
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
        denials.connect(stranger(address), new ConnectError('no-connect'));
      },
      onMalformed: (address, error) => {
        denials.connect(stranger(address), malformed(error));
      },
    });
  }

  /** Prepares for connections (`handle`). */
  async start(): Promise<void> {
    // The types of Aedes lack this (dependency-faults.md, 15). An unhandled error would end the process.
    const emitter: NodeJS.EventEmitter = this.#aedes;
    emitter.on('error', (error) => {
      this.#options.log.error({ part: 'mqtt', err: error }, 'broker error');
    });
    await this.#aedes.listen();
    this.#keepAlive.start();
  }

  /** Ends every connection, with and without a CONNACK. */
  async stop(): Promise<void> {
    this.#keepAlive.stop();
    for (const { network } of this.#open.all()) network.close(SHUTTING_DOWN);
    this.#options.quota.dropAll();
    await new Promise<void>((resolve) => this.#aedes.close(resolve));
    // Until then Aedes reports the wills of the connections that have just ended.
    this.#options.wills.stop();
  }

  /** Serves MQTT on a connection; `request` is set for a WebSocket. */
  handle(stream: Duplex, request?: IncomingMessage): void {
    const peer = peerOf(stream, request);
    this.#unidentified.wait(stream, peer.address, () => {
      const client = new MqttClient(this.#options.clientParts, this, new ReadToEnd(stream), peer);
      if (request !== undefined) this.#webSockets.set(request, client);
      this.#options.quota.arrived(client);
    });
  }

  /** Ends the connections and event streams of a principal (`principalKey`) whose credential has ended. */
  disconnect(owner: string): void {
    for (const connection of this.#admitted) {
      if (connection.owner === owner) connection.endCredential();
    }
    this.#options.wills.drop(owner);
    // One that is just being admitted has authenticated with that credential.
    this.#options.quota.dropAllOf(owner);
  }

  /**
   * Records a connection that its listener has ended.
   *
   * @param request the HTTP request of a WebSocket
   */
  refused(address: string, error: ConnectError, request?: IncomingMessage): void {
    const client = request && this.#webSockets.get(request);
    const { denials } = this.#options;
    if (client?.connection !== undefined) denials.ended(client.connection.peer, error.code);
    else denials.connect(client ?? stranger(address), error);
  }

  /** The number of connected clients, including event streams. */
  get connectionCount(): number {
    return this.#open.size;
  }

  /** Lists event streams along with the connections. */
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

  async admit(client: MqttClient, connect: ConnectPacket, request: ConnectRequest): Promise<void> {
    const { authentication, denials, presence, hubs } = this.#options;
    const connection = await authentication.admit(client, request, connect.password);
    client.admitted(connection);
    if (client.isClosed) {
      // The client has left in the meantime: its clean session must go too.
      this.closed(client);
      return;
    }
    this.#admitted.add(connection);
    const { key } = connection.session;
    const before = this.#open.get(key);
    if (before !== undefined) denials.ended(before.peer, 'taken-over');
    const { principal } = connection;
    if (principal.type === 'device') presence.connected(principal.id, client);
    else hubs.connected(principal.id, client);
    const { will } = connect;
    const pipe = new AedesPipe({
      onAccepted: () => this.#accepted(client, connection, request),
      onWill: () => {
        if (will !== undefined) this.#options.wills.take(connection, will);
      },
      onEnd: () => client.close(endOf('taken-over')),
    });
    this.#pipes.set(client, pipe);
    this.#aedes.handle(pipe);
    pipe.connect(key, will !== undefined);
  }

  failed(client: MqttClient, error: ConnectError | PacketError): void {
    const { denials } = this.#options;
    const { connection } = client;
    const isMalformed = error instanceof PacketError;
    if (connection !== undefined) {
      denials.ended(connection.peer, 'malformed-packet', isMalformed ? error : undefined);
    } else if (isMalformed) {
      denials.connect(client, malformed(error), error.returnCodeFor(client.version));
    } else denials.connect(client, error);
  }

  disconnecting(client: MqttClient): void {
    this.#pipes.get(client)?.disconnect();
  }

  /** Closes a connection; may be called more than once, and before it was open. */
  closed(client: MqttClient): void {
    this.#pipes.get(client)?.leave();
    const { connection } = client;
    if (connection === undefined) return;
    const { sessions, log } = this.#options;
    const wasOpen = connection.close();
    sessions.closed(connection.session);
    this.#open.remove(connection);
    if (!wasOpen) return;
    const { clientId } = connection.session;
    log.info({ clientId, principal: connection.owner }, 'disconnected');
  }

  /** Handles the end of a network connection; a device that is already back shows no gap. */
  ended(client: MqttClient): void {
    this.#keepAlive.leave(client);
    this.#options.quota.left(client);
    const { connection } = client;
    if (connection === undefined || !this.#admitted.delete(connection)) return;
    const { presence } = this.#options;
    const { principal } = connection;
    if (principal.type === 'device') presence.disconnected(principal.id, client);
    else presence.hubDisconnected(principal.id, client);
  }

  /** Opens the connection of a registered client. */
  #accepted(client: MqttClient, connection: Connection, request: ConnectRequest): void {
    if (client.isClosed) return;
    this.#takeOver(connection.session);
    this.#open.add(connection);
    this.#keepAlive.watch(client);
    this.#options.wills.opened(connection);
    const { clientId, isResumed } = connection.session;
    const { maxPacketBytes } = this.#options.clientParts;
    const properties = connackProperties({ connection, request, maxPacketBytes });
    if (!client.opened(isResumed, properties)) return;
    connection.open();
    this.#options.log.info({ clientId, principal: connection.owner }, 'connected');
  }

  /** Ends the connection that holds the session, if Aedes has not done so yet [MQTT-3.1.4-2]. */
  #takeOver({ key }: Session): void {
    this.#open.get(key)?.network.close(endOf('taken-over'));
  }
}

function stranger(address: string): UnconnectedPeer {
  return { address, request: undefined, version: undefined };
}

function malformed({ message: reason }: PacketError): ConnectError {
  return new ConnectError('malformed-connect', { reason });
}
