import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { IConnectPacket, Packet } from 'mqtt-packet';
import type { ConnectRequest } from './admission/authentication.js';
import { ConnectError } from './admission/connect-errors.js';
import type { Held } from './admission/connection-quota.js';
import type { NetworkPeer } from './admission/network-peer.js';
import type { Connection } from './connection.js';
import type { Watched } from './keep-alive.js';
import type { Publishing } from './publishing.js';
import type { Releasing } from './releasing.js';
import type { Subscribing } from './subscribing.js';
import { connectFault, decodeConnect, requireLevel } from './wire/connect-packet.js';
import { faultOf, type PacketDecoder, PacketError } from './wire/decoding.js';
import type { TurnPlace } from './wire/fair-turns.js';
import { PacketReader, type ReadConnection, type ReadTurns } from './wire/packet-reader.js';
import { encodeConnack, PINGRESP } from './wire/packet-writer.js';

/** In place of a location: clients that are not authenticated share their turns by address. */
const STRANGERS = 'strangers';
/** How long a client that is refused may take to read its CONNACK. */
const REFUSAL_TIMEOUT_MS = 10_000;

/** The parts that all clients share. */
export interface ClientParts {
  readonly maxPacketBytes: number;
  readonly turns: ReadTurns;
  readonly decoder: PacketDecoder;
  readonly publishing: Publishing;
  readonly subscribing: Subscribing;
  readonly releasing: Releasing;
}

/** The broker, as far as it has to do with one client. */
export interface ClientOwner {
  /** Admits the client of a CONNECT, and calls its `admitted`; rejects with why it is refused. */
  admit(client: MqttClient, connect: IConnectPacket, request: ConnectRequest): Promise<void>;
  /** Called when what was read breaks a rule, or the client is refused; the connection ends. */
  failed(client: MqttClient, error: ConnectError | PacketError): void;
  /** Called when the client has sent DISCONNECT. */
  disconnecting(client: MqttClient): void;
  /** Called when the connection is being closed, at whosever wish. */
  closed(client: MqttClient): void;
  /** Called when the network connection has ended. */
  ended(client: MqttClient): void;
}

/**
 * One network connection: handles each of its packets, or says who does.
 *
 * Packets behind CONNECT are read once CONNACK is sent.
 */
export class MqttClient implements Watched, Held, ReadConnection {
  readonly stream: Duplex;
  readonly address: string;
  readonly #parts: ClientParts;
  readonly #owner: ClientOwner;
  readonly #peer: NetworkPeer;
  readonly #reader: PacketReader;
  #request: ConnectRequest | undefined;
  #connection: Connection | undefined;
  #isConnecting = false;
  #isOpened = false;
  #isClosed = false;
  #refusalTimer: NodeJS.Timeout | undefined;
  #cancelWait: (() => void) | undefined;
  /** Whether the last turn brought messages. */
  #sends = false;
  /** Whether it has waited for its budget, and has a turn now whatever its principal's others have sent. */
  #hasWaited = false;

  constructor(parts: ClientParts, owner: ClientOwner, stream: Duplex, peer: NetworkPeer) {
    this.#parts = parts;
    this.#owner = owner;
    this.#peer = peer;
    this.stream = stream;
    this.address = peer.address;
    stream.once('error', () => this.close());
    stream.once('close', () => this.#ended());
    this.#reader = new PacketReader(this, parts.turns, parts.maxPacketBytes);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isConnecting(): boolean {
    return this.#isConnecting;
  }

  get isSubscriber(): boolean {
    return this.#connection?.principal.type === 'token';
  }

  get place(): TurnPlace {
    return this.#connection?.place ?? { location: STRANGERS, principal: this.address };
  }

  /** The client's CONNECT, which may break a rule; undefined until it arrives. */
  get request(): ConnectRequest | undefined {
    return this.#request;
  }

  /** Undefined until the client is authenticated. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  get keepAliveMs(): number {
    return this.#connection?.keepAliveMs ?? Number.POSITIVE_INFINITY;
  }

  get silentMs(): number {
    return this.#reader.silentMs;
  }

  timeOut(): void {
    if (this.#connection === undefined) this.close();
    else this.#connection.end('keep-alive-timeout');
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#owner.closed(this);
    this.stream.destroy();
  }

  drop(): void {
    this.close();
  }

  /** Notes the connection of the client, which is authenticated now. */
  admitted(connection: Connection): void {
    this.#connection = connection;
    this.#sends = connection.principal.type === 'device';
    // Its turns are no longer those of a stranger.
    this.#parts.turns.leave(this.#reader);
  }

  /** Sends CONNACK, and reads what followed CONNECT. */
  opened(isSessionPresent: boolean): void {
    this.stream.write(encodeConnack(ACCEPTED, isSessionPresent));
    this.#isOpened = true;
    this.#isConnecting = false;
    this.#reader.resume();
  }

  /**
   * Ends the connection, after a CONNACK where the error has a code for it.
   *
   * @throws the error when it is none of the client's making
   */
  fail(error: unknown): void {
    if (!(error instanceof ConnectError || error instanceof PacketError)) throw error;
    if (this.#isClosed) return;
    this.#owner.failed(this, error);
    const returnCode = error instanceof ConnectError ? error.returnCode : null;
    // Only the first packet gets a CONNACK.
    if (returnCode === null || this.#isOpened) {
      this.close();
      return;
    }
    this.#isConnecting = true;
    this.#refusalTimer = setTimeout(() => this.close(), REFUSAL_TIMEOUT_MS);
    this.stream.write(encodeConnack(returnCode), () => this.close());
  }

  /** Returns whether the packet counts as a message: all do but acknowledgements of what is in flight. */
  onPacket(bytes: Buffer): boolean {
    if (this.#connection === undefined) {
      this.#takeConnect(bytes);
      return true;
    }
    const packet = this.#parts.decoder.decode(bytes);
    const fault = faultOf(packet);
    if (fault !== undefined) throw new PacketError(fault);
    return this.#handle(this.#connection, packet);
  }

  get mayRead(): boolean {
    if (this.#isClosed || this.#isConnecting) return false;
    const connection = this.#connection;
    if (connection === undefined) return true;
    if (!connection.share.mayRead) {
      this.#cancelWait ??= connection.whenThereIsRoom(() => this.#proceed());
      return false;
    }
    // A client that only acknowledges makes room for messages, however much others of its principal send.
    const { budget } = connection;
    if (!this.#sends || this.#hasWaited || budget.isFree) return true;
    const limit = budget.reachedLimit(performance.now());
    if (limit === undefined) return true;
    this.#cancelWait ??= connection.whenWithinBudget(limit, () => {
      this.#hasWaited = true;
      this.#proceed();
    });
    return false;
  }

  onRead(messages: number, bytes: number, nowMs: number): boolean {
    this.#sends = messages > 0;
    this.#hasWaited = false;
    return this.#connection?.budget.take(messages, bytes, nowMs) ?? false;
  }

  #takeConnect(bytes: Buffer): void {
    const packet = decodeConnect(bytes);
    this.#request = this.#requestOf(packet);
    requireLevel(bytes);
    const fault = connectFault(packet);
    if (fault !== undefined) throw typeof fault === 'string' ? new PacketError(fault) : fault;
    this.#isConnecting = true;
    this.#owner.admit(this, packet, this.#request).catch((error: unknown) => {
      if (!(error instanceof ConnectError)) this.close();
      this.fail(error);
    });
  }

  #requestOf(packet: IConnectPacket): ConnectRequest {
    const isPersistent = packet.clean !== true;
    // [MQTT-3.1.3-6]; a session that persists needs an identifier of the client's own.
    const isNamed = packet.clientId !== '' || isPersistent;
    return {
      address: this.address,
      bytes: packet.length ?? 0,
      clientId: isNamed ? packet.clientId : `auto-${randomUUID()}`,
      username: packet.username,
      isPersistent,
      keepAliveSeconds: packet.keepalive ?? 0,
      protocol: this.#peer.transport,
      mqttVersion: packet.protocolVersion === 3 ? '3.1' : '3.1.1',
    };
  }

  #handle(connection: Connection, packet: Packet): boolean {
    const { publishing, subscribing, releasing } = this.#parts;
    switch (packet.cmd) {
      case 'publish':
        publishing.take(connection, packet);
        break;
      case 'puback':
        // That of a message in flight makes room for more of them.
        if (connection.session.consumer?.acknowledge(packet.messageId ?? 0) !== true) break;
        connection.writer.noteRead();
        return false;
      case 'pubrel':
        releasing.take(connection, packet.messageId ?? 0);
        break;
      case 'subscribe':
        subscribing.subscribe(connection, packet);
        break;
      case 'unsubscribe':
        subscribing.unsubscribe(connection, packet);
        break;
      case 'pingreq':
        connection.writer.write(PINGRESP);
        break;
      case 'disconnect':
        this.#reader.end();
        this.#owner.disconnecting(this);
        this.close();
    }
    return true;
  }

  #proceed(): void {
    this.#cancelWait = undefined;
    this.#reader.resume();
  }

  #ended(): void {
    clearTimeout(this.#refusalTimer);
    this.#cancelWait?.();
    this.#reader.end();
    this.close();
    this.#owner.ended(this);
  }
}

/** The CONNACK code of success (MQTT 3.1.1, 3.2.2.3). */
const ACCEPTED = 0;
