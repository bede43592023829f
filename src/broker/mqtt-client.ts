import type { Duplex } from 'node:stream';
import {
  FIRST_FAILURE,
  NORMAL,
  PACKET_TOO_LARGE,
  PacketError,
  PROTOCOL_ERROR,
  type Refusal,
} from '../mqtt/codes.js';
import { decode } from '../mqtt/decode.js';
import { filterAnswerBytes, PINGRESP } from '../mqtt/encode.js';
import type {
  ClientPacket,
  ConnectPacket,
  DisconnectPacket,
  MqttVersion,
  PublishPacket,
} from '../mqtt/packets.js';
import type { Properties } from '../mqtt/properties.js';
import { ConnectError } from './admission/connect-errors.js';
import {
  type ConnectRequest,
  checkChangedExpiry,
  checkConnect,
  readConnect,
} from './admission/connect-request.js';
import type { Held } from './admission/connection-quota.js';
import type { NetworkPeer } from './admission/network-peer.js';
import { memoryOf } from './budgets/unstored-publishes.js';
import type { ClientParts } from './client-parts.js';
import type { Connection } from './connection.js';
import type { Watched } from './keep-alive.js';
import { acceptingConnack, farewellOf, refusingConnack } from './wire/farewells.js';
import { PacketReader, type ReadConnection } from './wire/packet-reader.js';
import { TopicAliases } from './wire/topic-aliases.js';

/** How long a refused client may take to read its CONNACK. */
const REFUSAL_TIMEOUT_MS = 10_000;
/** The same for a DISCONNECT; the gateway waits for it when it stops. */
const DISCONNECT_TIMEOUT_MS = 1_000;

/** The broker as one client sees it. */
export interface ClientOwner {
  /** Admits the client of a CONNECT and calls its `admitted`; rejects with the reason for a refusal. */
  admit(client: MqttClient, connect: ConnectPacket, request: ConnectRequest): Promise<void>;
  /** Called when the client breaks a rule or is refused; the connection ends. */
  failed(client: MqttClient, error: ConnectError | PacketError): void;
  /** Called when the client has sent DISCONNECT and its will must not be published. */
  disconnecting(client: MqttClient): void;
  /** Called when the connection is being closed, by either side. */
  closed(client: MqttClient): void;
  /** Called when the network connection has ended. */
  ended(client: MqttClient): void;
}

/**
 * One network connection: handles each packet, or passes it to the part that does.
 *
 * Packets after CONNECT are read once CONNACK is sent.
 */
export class MqttClient implements Watched, Held, ReadConnection {
  readonly stream: Duplex;
  readonly address: string;
  readonly #parts: ClientParts;
  readonly #owner: ClientOwner;
  readonly #peer: NetworkPeer;
  readonly #reader: PacketReader;
  /** From the client's CONNECT, once that part of it is read. */
  #version: MqttVersion | undefined;
  #request: ConnectRequest | undefined;
  #aliases: TopicAliases | undefined;
  #connection: Connection | undefined;
  #isConnecting = false;
  #isOpened = false;
  #isClosed = false;
  #farewellTimer: NodeJS.Timeout | undefined;
  #cancelWait: (() => void) | undefined;
  /** Whether the last turn brought messages. */
  #sends = false;
  /** In the current turn. */
  #hasAcknowledged = false;
  /** Whether it has waited for its budget, and gets a turn now whatever its principal's other clients have sent. */
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

  /** By what it sends, not by its credential: a hub sends messages, too. */
  get onlyAcknowledges(): boolean {
    return this.#connection !== undefined && !this.#sends;
  }

  get principal(): string {
    return this.#connection?.owner ?? this.address;
  }

  /** The client's CONNECT, which may break a rule; undefined until it arrives. */
  get request(): ConnectRequest | undefined {
    return this.#request;
  }

  get version(): MqttVersion | undefined {
    return this.#version;
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

  /** @param refusal for the DISCONNECT to an MQTT 5 client; undefined: closes without one */
  close(refusal?: Refusal): void {
    if (this.#isClosed) return;
    const isTold = refusal !== undefined && this.#isOpened && this.#version === 5;
    const unsent = isTold ? (this.#connection?.writer.takeUnsent() ?? []) : [];
    const farewell = isTold ? [farewellOf(refusal, this.#request?.terms)] : [];
    this.#end(isTold ? Buffer.concat([...unsent, ...farewell]) : undefined);
  }

  /** Sets the connection of the client, which is now authenticated. */
  admitted(connection: Connection): void {
    this.#connection = connection;
    this.#sends = true;
    // Its turns are no longer those of a stranger.
    this.#parts.turns.leave(this.#reader);
  }

  /** Sends CONNACK, and reads what followed CONNECT. Returns false for a client that does not take so large a packet. */
  opened(isSessionPresent: boolean, properties: Properties): boolean {
    const connack = acceptingConnack(
      this.#version,
      isSessionPresent,
      properties,
      this.#request?.terms,
    );
    if (connack === undefined) {
      this.fail(
        new PacketError('its maximum packet size has no room for CONNACK', PACKET_TOO_LARGE),
      );
      return false;
    }
    this.stream.write(connack);
    this.#isOpened = true;
    this.#isConnecting = false;
    this.#reader.resume();
    return true;
  }

  /**
   * Ends the connection, after a CONNACK or DISCONNECT where the error has a code for it.
   *
   * @throws the error if the client did not cause it
   */
  fail(error: unknown): void {
    if (!(error instanceof ConnectError || error instanceof PacketError)) throw error;
    // A client that hangs up before the delayed answer has still tried to log in.
    if (!this.#isClosed || error instanceof ConnectError) this.#owner.failed(this, error);
    if (this.#isClosed) return;
    const code = error.returnCodeFor(this.#version);
    // Only the first packet gets a CONNACK.
    const refusal = code === null ? undefined : { reasonCode: code, reason: error.told };
    if (this.#isOpened || refusal === undefined) this.close(refusal);
    else
      this.#end(refusingConnack(refusal, this.#version, this.#request?.terms), REFUSAL_TIMEOUT_MS);
  }

  /** Returns whether the packet counts as a message: all do, except acknowledgements of messages in flight. */
  onPacket(bytes: Buffer): boolean {
    if (this.#connection === undefined) {
      this.#takeConnect(bytes);
      return true;
    }
    return this.#handle(this.#connection, decode(bytes, this.#version ?? 4));
  }

  mayReadOrWait(): boolean {
    if (this.#isClosed || this.#isConnecting) return false;
    const connection = this.#connection;
    if (connection === undefined) return true;
    if (!connection.share.mayRead) {
      this.#cancelWait ??= connection.whenThereIsRoom(() => this.#proceed());
      return false;
    }
    // A client that only acknowledges makes room for messages, however much its principal's other clients send.
    if (!this.#sends || this.#hasWaited || connection.isFree) return true;
    const owing = connection.owing(performance.now());
    if (owing === undefined) return true;
    this.#cancelWait ??= connection.whenWithinBudget(owing.budget, owing.limit, () => {
      this.#hasWaited = true;
      this.#proceed();
    });
    return false;
  }

  onRead(messages: number, bytes: number, nowMs: number): void {
    // A turn within a large packet says nothing.
    if (messages > 0) this.#sends = true;
    else if (this.#hasAcknowledged) this.#sends = false;
    this.#hasAcknowledged = false;
    this.#hasWaited = false;
    this.#connection?.budget.take(messages, bytes, nowMs);
  }

  #takeConnect(bytes: Buffer): void {
    const { packet, request } = readConnect(bytes, this.#peer, (version) => {
      this.#version = version;
    });
    this.#request = request;
    checkConnect(packet);
    this.#isConnecting = true;
    this.#owner.admit(this, packet, request).catch((error: unknown) => {
      if (!(error instanceof ConnectError)) this.close();
      this.fail(error);
    });
  }

  #handle(connection: Connection, packet: ClientPacket): boolean {
    const { publishing, subscribing } = this.#parts;
    switch (packet.cmd) {
      case 'publish':
        publishing.take(connection, this.#named(packet));
        break;
      case 'puback': {
        // Acknowledging a message in flight makes room for more.
        const { consumer } = connection.session;
        const isRefused = packet.reasonCode >= FIRST_FAILURE;
        if (consumer?.acknowledge(packet.messageId, isRefused) !== true) break;
        connection.writer.noteRead();
        this.#hasAcknowledged = true;
        return false;
      }
      case 'pubrel':
        releaseReceived(connection, packet.messageId);
        break;
      case 'subscribe':
        checkAnswerFits(connection, packet);
        subscribing.subscribe(connection, packet);
        break;
      case 'unsubscribe':
        checkAnswerFits(connection, packet);
        subscribing.unsubscribe(connection, packet);
        break;
      case 'pingreq':
        connection.writer.write(PINGRESP);
        break;
      case 'pubrec':
      case 'pubcomp':
        throw new PacketError('acknowledges a QoS 2 message: none is sent', PROTOCOL_ERROR);
      case 'disconnect':
        this.#takeDisconnect(connection, packet);
    }
    return true;
  }

  /** The PUBLISH with its alias replaced by the topic. */
  #named(packet: PublishPacket): PublishPacket {
    if (packet.properties?.topicAlias === undefined) return packet;
    this.#aliases ??= new TopicAliases();
    return this.#aliases.resolve(packet);
  }

  #takeDisconnect({ session, sessions }: Connection, packet: DisconnectPacket): void {
    const { reasonCode, properties } = packet;
    const expirySeconds = properties?.sessionExpirySeconds;
    checkChangedExpiry(expirySeconds, this.#request);
    this.#reader.end();
    if (expirySeconds !== undefined) sessions.setExpiry(session, expirySeconds);
    // [MQTT-3.14.4-3]
    if (reasonCode === NORMAL) this.#owner.disconnecting(this);
    this.close();
  }

  #proceed(): void {
    this.#cancelWait = undefined;
    this.#reader.resume();
  }

  /** @param farewell the last packets for the client, if it reads them in time */
  #end(farewell?: Buffer, timeoutMs = DISCONNECT_TIMEOUT_MS): void {
    this.#isClosed = true;
    this.#owner.closed(this);
    if (farewell === undefined) {
      this.stream.destroy();
      return;
    }
    this.#farewellTimer = setTimeout(() => this.stream.destroy(), timeoutMs);
    this.stream.write(farewell, () => this.stream.destroy());
  }

  #ended(): void {
    clearTimeout(this.#farewellTimer);
    this.#cancelWait?.();
    this.#reader.end();
    this.close();
    this.#owner.ended(this);
  }
}

/**
 * Checks that the client takes the answer, which has a code for each filter [MQTT-3.1.2-24].
 *
 * @throws PacketError
 */
function checkAnswerFits(
  { terms }: Connection,
  { filters }: { readonly filters: readonly unknown[] },
): void {
  if (filterAnswerBytes(filters.length) <= terms.maxPacketBytes) return;
  throw new PacketError('more filters than its maximum packet size has room for', PACKET_TOO_LARGE);
}

/** Takes PUBREL: forgets the packet identifier, then sends PUBCOMP [MQTT-4.3.3-2]. */
function releaseReceived({ share, session, writer }: Connection, packetIdentifier: number): void {
  const bytes = memoryOf(0);
  const release = share.take(bytes);
  // A client that does not wait for PUBREC: its publish may still be on its way to the store.
  session.received.release(packetIdentifier, () => {
    release();
    writer.acknowledge('pubcomp', packetIdentifier);
  });
}
