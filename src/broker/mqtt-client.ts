import type { Client } from 'aedes';
import type { IConnectPacket, Packet } from 'mqtt-packet';
import type { ConnectRequest } from './admission/authentication.js';
import type { Held } from './admission/connection-quota.js';
import type { NetworkPeer } from './admission/network-peer.js';
import type { Connection } from './connection.js';
import type { Watched } from './keep-alive.js';
import type { Publishing } from './publishing.js';
import type { Releasing } from './releasing.js';
import type { Subscribing } from './subscribing.js';
import type { TurnPlace } from './wire/fair-turns.js';
import { PacketGuard } from './wire/packet-guard.js';
import { parserOf } from './wire/packet-parser.js';
import { PacketReader, type ReadConnection, type ReadTurns } from './wire/packet-reader.js';
import { PINGRESP } from './wire/packet-writer.js';

/** In place of a location: clients that are not authenticated share their turns by address. */
const STRANGERS = 'strangers';
const NO_PASSWORD = Buffer.alloc(0);

/** The parts that all clients share. */
export interface ClientParts {
  readonly maxPacketBytes: number;
  readonly turns: ReadTurns;
  readonly publishing: Publishing;
  readonly subscribing: Subscribing;
  readonly releasing: Releasing;
}

/**
 * Decides for each packet of one network connection who handles it.
 *
 * Aedes handles CONNECT and DISCONNECT; all others are the gateway's own. What follows CONNECT is read once
 * CONNACK is sent.
 */
export class MqttClient implements Watched, Held, ReadConnection {
  readonly client: Client;
  readonly address: string;
  readonly #parts: ClientParts;
  readonly #peer: NetworkPeer;
  readonly #guard: PacketGuard;
  readonly #reader: PacketReader;
  /** Aedes' own handler of a packet. */
  readonly #listeners: ((packet: Packet) => void)[];
  #request: ConnectRequest | undefined;
  /** Until the client is authenticated. */
  #connect: IConnectPacket | undefined;
  #connection: Connection | undefined;
  #isOpened = false;
  #cancelWait: (() => void) | undefined;
  /** Whether the last turn brought messages. */
  #sends = false;
  /** Whether it has waited for its budget, and has a turn now whatever its principal's others have sent. */
  #hasWaited = false;

  /** @param connectBytes the length of the first packet */
  constructor(parts: ClientParts, client: Client, peer: NetworkPeer, connectBytes: number) {
    this.#parts = parts;
    this.client = client;
    this.address = peer.address;
    this.#peer = peer;
    const { maxPacketBytes, turns } = parts;
    this.#guard = new PacketGuard(client, maxPacketBytes);
    this.#listeners = parserOf(client).listeners('packet');
    this.#reader = new PacketReader(this, turns, { maxPacketBytes, connectBytes });
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
    this.client.emit('error', new Error('keep alive timeout'));
  }

  /** Closes the network connection without an answer. */
  drop(): void {
    this.client.conn.destroy();
  }

  /** Notes the connection of the client, which is authenticated now. */
  admitted(connection: Connection): void {
    this.#connection = connection;
    // The parser of Aedes keeps the CONNECT as long as the connection lasts, so the secret is removed from it.
    if (this.#connect !== undefined) this.#connect.password = NO_PASSWORD;
    this.#connect = undefined;
    this.#sends = connection.principal.type === 'device';
    // Its turns are no longer those of a stranger.
    this.#parts.turns.leave(this.#reader);
  }

  /** Ends reading: the network connection has ended. */
  ended(): void {
    this.#cancelWait?.();
    this.#reader.end();
  }

  /** Reads what followed CONNECT, once CONNACK is sent. */
  opened(): void {
    this.#isOpened = true;
    this.#reader.resume();
  }

  /** Returns whether the packet counts as a message: all do but acknowledgements of what is in flight. */
  onPacket(packet: Packet): boolean {
    const isFirst = packet.cmd === 'connect' && this.#request === undefined;
    if (isFirst) {
      this.#request = {
        address: this.address,
        bytes: packet.length ?? 0,
        clientId: packet.clientId,
        username: packet.username,
        isPersistent: packet.clean !== true,
        keepAliveSeconds: packet.keepalive ?? 0,
        protocol: this.#peer.transport,
        mqttVersion: packet.protocolVersion === 3 ? '3.1' : '3.1.1',
      };
    }
    if (!this.#guard.admits(packet)) return true;
    if (isFirst) {
      // `KeepAlive` watches all connections together.
      packet.keepalive = 0;
      this.#connect = packet;
      this.#handOver(packet);
      return true;
    }
    if (this.#connection !== undefined) return this.#handle(this.#connection, packet);
    this.#handOver(packet);
    return true;
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
        this.#handOver(packet);
        break;
      default:
        this.#handOver(packet);
    }
    return true;
  }

  get mayRead(): boolean {
    const connection = this.#connection;
    if (connection === undefined || !this.#isOpened) return this.#request === undefined;
    if (this.client.closed) return false;
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

  #proceed(): void {
    this.#cancelWait = undefined;
    this.#reader.resume();
  }

  #handOver(packet: Packet): void {
    const parser = parserOf(this.client);
    for (const listener of this.#listeners) listener.call(parser, packet);
  }
}
