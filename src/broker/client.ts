/**
 * One MQTT client, from its first byte to the end of its connection: what it sends is handled packet by packet, in its
 * turns, or passed to the part that does.
 *
 * Packets behind CONNECT wait until CONNACK is sent. Once the last packet is handled, the end of the stream is the end of
 * the client.
 */
import type { Session } from '../delivery/sessions/session.js';
import { networkOf } from '../domain/addresses.js';
import type { ClientCertificate } from '../domain/credentials.js';
import type { Principal } from '../domain/grants.js';
import {
  FIRST_FAILURE,
  NORMAL,
  PACKET_TOO_LARGE,
  PacketError,
  PROTOCOL_ERROR,
  type Refusal,
  TOPIC_ALIAS_INVALID,
} from '../mqtt/codes.js';
import { decode } from '../mqtt/decode.js';
import { filterAnswerBytes, PINGRESP } from '../mqtt/encode.js';
import type {
  ClientPacket,
  DisconnectPacket,
  MqttVersion,
  PublishPacket,
} from '../mqtt/packets.js';
import type { Broker } from './broker.js';
import {
  acceptingConnack,
  type ClientTerms,
  ConnectError,
  type ConnectRequest,
  checkChangedExpiry,
  checkConnect,
  farewell,
  MAX_TOPIC_ALIASES,
  readConnect,
  refusingConnack,
  requestOf,
} from './connect.js';
import type { DeniedReason, Transport as Protocol } from './connection-list.js';
import { endOf } from './denied.js';
import type { Flow } from './flow.js';
import { PendingAcknowledgements } from './publishing.js';
import { Incoming, type Transport } from './transport.js';
import { PacketWriter } from './writer.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** The first byte of a CONNECT (MQTT 3.1.1, 3.1.1). */
const CONNECT = 0x10;
/** The first byte of a PUBACK (MQTT 3.1.1, 3.4.1). */
const PUBACK = 0x40;
/** How long a refused client may take to read its CONNACK. */
const REFUSAL_TIMEOUT_MS = 10_000;
/** The same for a DISCONNECT; the gateway waits for it when it stops. */
const FAREWELL_TIMEOUT_MS = 1_000;
/** A server closes after one and a half keep-alives [MQTT-3.1.2-24]. */
const SILENT_KEEP_ALIVES = 1.5;
/** How long one alarm over a device's limit holds up its hub: the others' alarms must come within a second (contract 4.4). */
const HUB_HOLD_MS = 400;

/** Who a logged-in client is, its session, and how much it may send. */
export interface Login {
  readonly principal: Principal;
  readonly session: Session;
  readonly flow: Flow;
  readonly keepAliveMs: number;
}

type State = 'connecting' | 'logging-in' | 'open' | 'closed';

export class Client {
  readonly address: string;
  readonly protocol: Protocol;
  /** Of the right authority; it may log in without a password. */
  readonly certificate: ClientCertificate | undefined;
  readonly incoming: Incoming;
  readonly #broker: Broker;
  readonly #arrivedAtMs = performance.now();
  #transport: Transport | undefined;
  #state: State = 'connecting';
  /** From its CONNECT, once that part of it is read. */
  #version: MqttVersion | undefined;
  #request: ConnectRequest | undefined;
  #login: Login | undefined;
  #writer: PacketWriter | undefined;
  #acknowledgements: PendingAcknowledgements | undefined;
  /** The topics that the client sends as numbers (MQTT 5, 3.3.2.3.4). */
  #aliases: Map<number, string> | undefined;
  /** Whether its last turn brought something other than acknowledgements. */
  #sends = true;
  /** Until when a device behind it, which has sent more alarms than it may, holds it up; 0: none does. */
  #heldUpUntilMs = 0;
  /** Whether it is named for leaving its messages unread. */
  #isUnread = false;
  #isCredentialEnded = false;

  constructor(
    broker: Broker,
    address: string,
    protocol: Protocol,
    certificate: ClientCertificate | undefined,
  ) {
    this.#broker = broker;
    this.address = address;
    this.protocol = protocol;
    this.certificate = certificate;
    this.incoming = new Incoming(() => this.#arrived());
  }

  /** @param transport brings bytes to `incoming` */
  start(transport: Transport): void {
    this.#transport = transport;
    if (this.isClosed) transport.destroy();
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get version(): MqttVersion | undefined {
    return this.#version;
  }

  /** Its CONNECT, which may break a rule; undefined until it arrives. */
  get request(): ConnectRequest | undefined {
    return this.#request;
  }

  /** Undefined until its credentials are checked. */
  get login(): Login | undefined {
    return this.#login;
  }

  /** Whether its credential has ended; then nothing is published any more, not even the will. */
  get isCredentialEnded(): boolean {
    return this.#isCredentialEnded;
  }

  /** Whose turns it shares: the principal's, or those of strangers from its network. */
  get line(): string {
    return this.#login?.session.owner.key ?? networkOf(this.address);
  }

  /** By what it sends, not by its credential: a hub sends messages, too. */
  get onlyAcknowledges(): boolean {
    return !this.#sends;
  }

  /** Milliseconds since it was last heard; 0 while packets wait. */
  get silentMs(): number {
    return this.incoming.silentMs;
  }

  get keepAliveMs(): number {
    return this.#login?.keepAliveMs ?? Number.POSITIVE_INFINITY;
  }

  /** Whether there is something to handle. */
  get wantsTurn(): boolean {
    const isReady = this.#state === 'connecting' || this.#state === 'open';
    return isReady && (this.incoming.hasMore || this.incoming.hasEnded);
  }

  /** Whether its packets may be handled now: its principal is within its limits, and has room. Notes if it is over one. */
  mayBeHandled(): boolean {
    // The end of a client that is over a limit is still noticed at once.
    if (!this.incoming.hasMore) return true;
    const flow = this.#login?.flow;
    // A client that only acknowledges makes room for messages, however much its principal's other clients send.
    if (flow === undefined || !this.#sends) return true;
    if (!flow.hasRoom) return false;
    const nowMs = performance.now();
    if (flow.freeAtMs > nowMs) {
      flow.noteHeldBack(nowMs);
      return false;
    }
    return this.#heldUpUntilMs <= nowMs;
  }

  /** Notes that it waits until it may be handled. */
  parked(): void {
    this.#login?.flow.noteParked();
  }

  /** Handles up to so many packets. Returns how many it has handled. */
  handle(maxPackets: number): number {
    this.#heldUpUntilMs = 0;
    let [packets, sends, acknowledges] = [0, false, false];
    try {
      while (packets < maxPackets && this.wantsTurn) {
        const bytes = this.#nextPacket();
        if (bytes === undefined) break;
        packets++;
        if (this.#handlePacket(bytes)) sends = true;
        else acknowledges = true;
        if (this.#heldUpUntilMs > 0 || this.#login?.flow.hasRoom === false) break;
      }
    } catch (error) {
      this.fail(error);
    }
    if (sends) this.#sends = true;
    else if (acknowledges) this.#sends = false;
    if (this.incoming.hasEnded && !this.incoming.hasMore && this.wantsTurn) this.close();
    return packets;
  }

  /** Charges an alarm to its device, also through a hub, whose own flow has no limit of alarms. */
  chargeAlarm(flow: Flow): void {
    const nowMs = performance.now();
    flow.countAlarm(nowMs);
    if (flow === this.#login?.flow || flow.freeAtMs <= nowMs) return;
    flow.noteHeldBack(nowMs);
    this.#heldUpUntilMs = Math.min(nowMs + HUB_HOLD_MS, flow.freeAtMs);
  }

  /** Notes that its credentials are checked. */
  admitted(login: Login, terms: ClientTerms): void {
    // Its turns are no longer those of a stranger.
    this.#broker.turns.leave(this);
    this.#login = login;
    if (this.#transport === undefined) return;
    const writer = new PacketWriter(this.#transport, terms, () => login.session.consumer?.wake());
    this.#writer = writer;
    this.#acknowledgements = new PendingAcknowledgements(login.flow, writer, () =>
      this.end('not-stored'),
    );
  }

  /** Sends CONNACK, then messages, and handles what followed CONNECT. */
  open(): void {
    if (this.#request === undefined || this.#login === undefined) return;
    try {
      const { maxPacketBytes } = this.#broker;
      this.#writer?.write(acceptingConnack(this.#request, this.#login, maxPacketBytes));
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#state = 'open';
    this.receive();
    this.#arrived();
  }

  /** Begins to send messages, once it has subscribed. */
  receive(): void {
    const consumer = this.#login?.session.consumer;
    if (!this.isOpen || this.#writer === undefined || consumer?.isConnected !== false) return;
    consumer.connect(this.#writer);
  }

  /** Sends no more messages. */
  disconnectConsumer(): void {
    if (this.#writer !== undefined) this.#login?.session.consumer?.disconnect(this.#writer);
  }

  /** Ends the connection, and says why. */
  end(code: DeniedReason): void {
    if (this.isClosed) return;
    this.#broker.denied.ended(this, code);
    this.close(endOf(code));
  }

  /** Ends the connection of a client whose credential is no longer valid. */
  endCredential(): void {
    this.#isCredentialEnded = true;
    this.end('credential-ended');
  }

  /** Ends the connection of a client whose WebSocket frames are not those of MQTT, or bring nothing. */
  endForFrames(): void {
    if (this.#login === undefined) this.fail(new ConnectError('websocket-frames'));
    else this.end('websocket-frames');
  }

  /** Ends the connection of a client presumed gone. */
  timeOut(): void {
    this.end('keep-alive-timeout');
  }

  /** @param refusal for the DISCONNECT to an MQTT 5 client; undefined: closes without one */
  close(refusal?: Refusal): void {
    if (this.isClosed) return;
    const terms = this.#request?.terms;
    const isTold = refusal !== undefined && this.isOpen && terms?.version === 5;
    const unsent = this.#writer?.close() ?? [];
    if (isTold) this.#leave([...unsent, farewell(refusal, terms)], FAREWELL_TIMEOUT_MS);
    else this.#leave([], 0);
  }

  /**
   * Ends the connection, after a CONNACK or DISCONNECT where the error has a code for it.
   *
   * @throws the error if the client did not cause it
   */
  fail(error: unknown): void {
    if (!(error instanceof ConnectError || error instanceof PacketError)) throw error;
    // A client that hangs up before the delayed answer has still tried to log in.
    if (!this.isClosed || error instanceof ConnectError) this.#broker.denied.failed(this, error);
    if (this.isClosed) return;
    const reasonCode = error.returnCodeFor(this.#version);
    const refusal = reasonCode === null ? undefined : { reasonCode, reason: error.told };
    // Only the first packet gets a CONNACK.
    if (this.isOpen || refusal === undefined) this.close(refusal);
    else {
      const connack = refusingConnack(refusal, this.#version, this.#request?.terms);
      this.#leave([connack], REFUSAL_TIMEOUT_MS);
    }
  }

  /** Ends a client that is silent, never logs in, reads nothing, or must send again; call it every half second. */
  check(nowMs: number): void {
    if (this.#state === 'connecting') {
      if (nowMs - this.#arrivedAtMs > CONNECT_TIMEOUT_MS) this.fail(new ConnectError('no-connect'));
      return;
    }
    if (!this.isOpen || this.#login === undefined) return;
    this.#acknowledgements?.check();
    const reading = this.#writer?.unreadAt(nowMs) ?? 'read';
    if (reading !== 'read' && !this.#isUnread) this.#broker.namedUnread(this.#login);
    this.#isUnread = reading !== 'read';
    if (reading === 'closed') this.end('messages-unread');
    else if (this.silentMs > SILENT_KEEP_ALIVES * this.keepAliveMs) this.timeOut();
  }

  #arrived(): void {
    if (this.wantsTurn) this.#broker.turns.want(this);
  }

  #nextPacket(): Buffer | undefined {
    const { firstByte = CONNECT } = this.incoming;
    // [MQTT-3.1.0-1]
    if (this.#login === undefined && firstByte !== CONNECT) {
      throw new PacketError('a first packet other than CONNECT', PROTOCOL_ERROR);
    }
    return this.incoming.next(this.#broker.maxPacketBytes);
  }

  /** Returns whether the packet counts as a message: all do, except acknowledgements of messages in flight. */
  #handlePacket(bytes: Buffer): boolean {
    const [login, writer, acks] = [this.#login, this.#writer, this.#acknowledgements];
    if (login === undefined || writer === undefined || acks === undefined) {
      this.#takeConnect(bytes);
      return true;
    }
    // Before it is decoded: one that breaks a rule counts, too.
    if (bytes[0] !== PUBACK) login.flow.countPacket(bytes.length, performance.now());
    const packet = decode(bytes, this.#version ?? 4);
    if (packet.cmd === 'puback') {
      // Acknowledging a message in flight makes room for more.
      const isRefused = packet.reasonCode >= FIRST_FAILURE;
      if (login.session.consumer?.acknowledge(packet.messageId, isRefused) === true) {
        writer.noteRead();
        return false;
      }
      login.flow.countPacket(bytes.length, performance.now());
      return true;
    }
    this.#take(packet, login, writer, acks);
    return true;
  }

  #takeConnect(bytes: Buffer): void {
    const connect = readConnect(bytes, (version) => {
      this.#version = version;
    });
    const request = requestOf(connect);
    this.#request = request;
    checkConnect(connect);
    this.#state = 'logging-in';
    this.#broker.admit(this, connect, request).catch((error: unknown) => {
      if (!(error instanceof ConnectError)) this.close();
      this.fail(error);
    });
  }

  #take(
    packet: ClientPacket,
    { session }: Login,
    writer: PacketWriter,
    acks: PendingAcknowledgements,
  ): void {
    const { publishing, subscribing } = this.#broker;
    switch (packet.cmd) {
      case 'publish':
        publishing.take(this, this.#named(packet), acks);
        break;
      case 'pubrel':
        acks.release(session.received, packet.messageId);
        break;
      case 'subscribe':
        this.#checkAnswerFits(packet.filters.length);
        subscribing.subscribe(this, packet, writer);
        break;
      case 'unsubscribe':
        this.#checkAnswerFits(packet.filters.length);
        subscribing.unsubscribe(this, packet, writer);
        break;
      case 'pingreq':
        writer.write(PINGRESP);
        break;
      case 'pubrec':
      case 'pubcomp':
        throw new PacketError('acknowledges a QoS 2 message: none is sent', PROTOCOL_ERROR);
      case 'disconnect':
        this.#takeDisconnect(session, packet);
    }
  }

  /** @throws PacketError if it takes no answer with a code for each filter [MQTT-3.1.2-24] */
  #checkAnswerFits(filterCount: number): void {
    const { maxPacketBytes = 0 } = this.#request?.terms ?? {};
    if (filterAnswerBytes(filterCount) <= maxPacketBytes) return;
    const rule = 'more filters than its maximum packet size has room for';
    throw new PacketError(rule, PACKET_TOO_LARGE);
  }

  /**
   * The PUBLISH with its alias replaced by the topic.
   *
   * @throws PacketError for a number that is too high, or stands for no topic
   */
  #named(packet: PublishPacket): PublishPacket {
    const alias = packet.properties?.topicAlias;
    if (alias === undefined) return packet;
    // [MQTT-3.3.2-8]
    if (alias === 0 || alias > MAX_TOPIC_ALIASES) {
      throw new PacketError('unusable topic alias', TOPIC_ALIAS_INVALID);
    }
    this.#aliases ??= new Map();
    if (packet.topic !== '') this.#aliases.set(alias, packet.topic);
    const topic = this.#aliases.get(alias);
    if (topic === undefined) {
      throw new PacketError('a topic alias that stands for no topic', PROTOCOL_ERROR);
    }
    return { ...packet, topic };
  }

  #takeDisconnect(session: Session, { reasonCode, properties }: DisconnectPacket): void {
    const expirySeconds = properties?.sessionExpirySeconds;
    checkChangedExpiry(expirySeconds, this.#request);
    if (expirySeconds !== undefined) this.#broker.sessions.setExpiry(session, expirySeconds);
    // [MQTT-3.14.4-3]
    if (reasonCode === NORMAL) this.#broker.dropWill(this);
    this.close();
  }

  /** @param last packets for the client, if it reads them in time */
  #leave(last: readonly Buffer[], timeoutMs: number): void {
    this.#state = 'closed';
    this.#writer?.close();
    this.#broker.turns.leave(this);
    this.#broker.left(this);
    const transport = this.#transport;
    if (last.length === 0) {
      transport?.destroy();
      return;
    }
    const timer = setTimeout(() => transport?.destroy(), timeoutMs);
    transport?.write(last, true, () => {
      clearTimeout(timer);
      transport.destroy();
    });
  }
}
