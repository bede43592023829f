/**
 * One connection to an upstream broker, from its first packet to its end: messages out, the upstream's answer to each,
 * and commands in.
 *
 * The bridge makes the next one. mqtt.js neither reconnects nor stores anything: unacknowledged messages stay in the
 * queue. PUBLISHes bypass it. It would copy and store each message, write it in parts, and change the order of its
 * properties.
 */
import { readFile } from 'node:fs/promises';
import type { IClientOptions, IConnackPacket, IPublishPacket, MqttClient } from 'mqtt';
import { connect, ReasonCodes } from 'mqtt';
import type { Packet } from 'mqtt-packet';
import constants from 'mqtt-packet/constants.js';
import type { OutgoingPublish, Receiver } from '../delivery/message.js';
import type { Outlet } from '../delivery/outlet.js';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import {
  type BridgeTopic,
  bridgedTopic,
  parseBridgedCommand,
  parseBridgeTopic,
} from '../domain/bridge-topics.js';
import { encodeAcknowledgement, encodePublish } from '../mqtt/encode.js';
import { encodeFields, joinFields } from '../mqtt/properties.js';
import { within } from '../site/clock/pause.js';
import {
  type ConnectionFailure,
  failureOfCode,
  failureOfError,
  isFailure,
  mayBeAboutMessage,
  PACKET_TOO_LARGE,
  passingRefusal,
  reasonOf,
  TOO_LARGE,
} from './failures.js';
import type { Inbound } from './inbound.js';
import type { Suspects, Unanswered } from './suspects.js';

// Makes mqtt.js accept "packet too large" in a PUBACK. MQTT 5 does not allow it there (3.4.2.1), but Mosquitto 2.0
// sends it beyond its `message_size_limit`. mqtt.js would end the connection, and the same message would come first
// on the next one, for ever.
constants.MQTT5_PUBACK_PUBREC_CODES[PACKET_TOO_LARGE] = ReasonCodes[PACKET_TOO_LARGE];

const CONNECT_TIMEOUT_MS = 10_000;
const SECONDS_PER_HOUR = 3600;
/** One packet identifier is left for the SUBSCRIBE. */
const MAX_UNANSWERED = 65_534;
const MAX_IDENTIFIER = 65_535;
/** [MQTT-1.5.4] */
const MAX_TOPIC_BYTES = 65_535;
/** Bytes that may wait for the network: several times what is sent in one turn of the event loop. */
const MAX_UNSENT_BYTES = 256 * 1024;
/** A single message may wait longer than the timeout while others are acknowledged. */
const LONGEST_WAIT_TIMEOUTS = 6;
const CHECKS_PER_TIMEOUT = 4;
/** Commands that may wait for the store; beyond that mqtt.js stops reading. */
const MAX_WAITING_COMMANDS = 100;
/** Up to this multiple of the limit, packets over it are read to the end and dropped: a command may be a slip. */
const GATHERED_TIMES = 4;
/** A frame of a WebSocket may hold many packets [MQTT-6.0.0-3]. */
const MIN_GATHERED_BYTES = 1024 * 1024;
/** Lets mqtt.js read on without a PUBACK. */
const NOT_ACKNOWLEDGED = new Error('not acknowledged yet');
const HUNG_UP = 'Connection closed each time';

export interface UpstreamOptions {
  readonly bridge: BridgeOptions;
  readonly clientId: string;
  /** The version of MQTT as its CONNECT names it: 4 is 3.1.1. */
  readonly protocol: 4 | 5;
  /** `mqtt.maxPacketBytes`, for packets from upstream too. */
  readonly maxPacketBytes: number;
  /** Whether the upstream must discard what its session holds for the bridge. */
  readonly forgetsSession: boolean;
  readonly outlet: Outlet;
  readonly inbound: Inbound;
  readonly suspects: Suspects;
}

/** Tells the bridge what happens on its connection. */
export interface UpstreamEvents {
  connected(): void;
  /** @param topic of a message that the upstream has taken */
  acknowledged(topic: string): void;
  /** @param topic of a message that the upstream does not take now */
  refused(topic: string, reason: string): void;
  /** Whether the upstream denied a filter of `commands`. */
  commandsAnswered(areDenied: boolean): void;
}

export class Upstream implements Receiver {
  /** Resolves once, with the reason, when the connection is gone. */
  readonly closed: Promise<ConnectionFailure>;
  readonly takesProperties: boolean;
  #resolveClosed: (failure: ConnectionFailure) => void = () => undefined;
  readonly #options: UpstreamOptions;
  readonly #events: UpstreamEvents;
  readonly #topic: BridgeTopic;
  readonly #client: MqttClient;
  readonly #silenceTimer: NodeJS.Timeout;
  /** Messages at QoS 1 or 2, by their packet identifier on this connection, the oldest first. */
  readonly #unanswered = new Map<number, Unanswered>();
  /** The upstream's limits (MQTT 5, 3.2.2.3); undefined until it has accepted the connection. */
  #limits: NonNullable<IConnackPacket['properties']> | undefined;
  /** Time of the last answer, or of the first message since none was in flight. */
  #lastAnswerAtMs = 0;
  /** Commands are acknowledged in order. */
  #commands: Promise<unknown> = Promise.resolve();
  #waitingCommands = 0;
  #isCorked = false;
  #failure: ConnectionFailure | undefined;
  /** Whether only acknowledgements are taken. */
  #isEnding = false;
  #onIdle: (() => void) | undefined;
  #isClosed = false;

  /** @throws Error when a certificate cannot be read, or is not one */
  static async open(options: UpstreamOptions, events: UpstreamEvents): Promise<Upstream> {
    return new Upstream(await clientOptions(options), options, events);
  }

  private constructor(client: IClientOptions, options: UpstreamOptions, events: UpstreamEvents) {
    const { bridge, protocol, outlet } = options;
    // First: nothing may have been started if it throws.
    this.#client = connect(bridge.url, client);
    this.takesProperties = protocol === 5;
    this.#options = options;
    this.#events = events;
    this.#topic = parseBridgeTopic(bridge.topic) ?? [];
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    const checkMs = (bridge.ackTimeoutSeconds * 1_000) / CHECKS_PER_TIMEOUT;
    this.#silenceTimer = setInterval(() => this.#checkSilence(), checkMs);
    this.#client.handleMessage = (packet, done) => this.#received(packet, done);
    this.#client.on('connect', (connack) => this.#connected(connack));
    this.#client.on('error', (error) => {
      this.#failure ??= failureOfError(error);
    });
    this.#client.on('disconnect', ({ reasonCode = 0 }) => {
      this.#giveUp(failureOfCode(reasonCode), mayBeAboutMessage(reasonCode));
    });
    this.#client.on('packetreceive', (packet) => this.#takeAnswer(packet));
    this.#client.on('close', () => {
      if (!this.#isEnding) this.#closed();
    });
    this.#client.stream.on('drain', () => outlet.wake());
    this.#boundGathered(2 * maxGatheredBytes(options));
  }

  /** Whether the upstream has accepted the connection. */
  get wasAccepted(): boolean {
    return this.#limits !== undefined;
  }

  get isWritable(): boolean {
    if (!this.wasAccepted || this.#isEnding) return false;
    if (this.#options.suspects.isOneByOne && this.#unanswered.size > 0) return false;
    return this.#client.stream.writableLength < MAX_UNSENT_BYTES;
  }

  get maxInFlight(): number {
    return Math.min(this.#limits?.receiveMaximum ?? MAX_UNANSWERED, MAX_UNANSWERED);
  }

  send(publish: OutgoingPublish): boolean {
    // A QoS 0 message gets no answer to show that the upstream did not hang up at it.
    const isLost =
      !this.wasAccepted || (publish.messageId === 0 && this.#options.suspects.isOneByOne);
    if (isLost) return true;
    const topic = bridgedTopic(this.#topic, publish.topic);
    if (this.#options.bridge.commands.length > 0 && parseBridgedCommand(topic) !== undefined) {
      this.#deadLetter(publish, 'it would come back as a command');
    } else if (Buffer.byteLength(topic) > MAX_TOPIC_BYTES) {
      this.#deadLetter(publish, 'its topic upstream is too long');
    } else {
      this.#publish(publish, topic);
    }
    return true;
  }

  /** Awaits acknowledgements, then disconnects. */
  async end(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    const disconnected = new Promise<void>((resolve) => {
      this.#onIdle = () => this.#client.end(false, () => resolve());
      if (this.#unanswered.size === 0) this.#onIdle();
    });
    await within(disconnected, timeoutMs);
    this.#stop();
    // Not `end(true)`, which does nothing while mqtt.js waits for a SUBACK.
    this.#client.stream.destroy();
    this.#resolveClosed({ kind: 'closed', detail: 'by the bridge' });
  }

  /** Gives up an upstream whose packet does not end: mqtt.js gathers a whole packet of any length in memory. */
  #boundGathered(maxBytes: number): void {
    let gathered = 0;
    this.#client.on('packetreceive', () => {
      gathered = 0;
    });
    // The bytes of a frame count together, and may follow the start of a packet.
    this.#client.stream.on('data', (bytes: Buffer) => {
      gathered += bytes.length;
      if (gathered > maxBytes) this.#giveUp(TOO_LARGE);
    });
  }

  #connected({ properties = {} }: IConnackPacket): void {
    if (this.#isClosed) return;
    this.#limits = properties;
    this.#options.suspects.connected();
    const { commands } = this.#options.bridge;
    // No Local (MQTT 5, 3.8.3.1): messages that the bridge sent do not come back.
    const options = { qos: 1, nl: true, rap: false, rh: 2 } as const;
    if (commands.length > 0) {
      this.#client.subscribe([...commands], options, (error, _, suback) => {
        // Without a SUBACK the connection has ended.
        if (suback !== undefined && !this.#isClosed) this.#events.commandsAnswered(error !== null);
      });
    }
    this.#options.outlet.connect(this);
    this.#events.connected();
  }

  #publish(publish: OutgoingPublish, topic: string): void {
    const { maximumPacketSize = Number.POSITIVE_INFINITY } = this.#limits ?? {};
    const { messageId, bytes } = this.#packetOf(publish, topic);
    if (bytes.length > maximumPacketSize) {
      this.#deadLetter(publish, reasonOf(PACKET_TOO_LARGE));
    } else if (this.#isHeld(publish)) {
      // It is sent later.
    } else if (messageId === 0) {
      this.#write(bytes, (error) => error ?? this.#answered(publish, 0));
    } else {
      const sentAtMs = performance.now();
      if (this.#unanswered.size === 0) this.#lastAnswerAtMs = sentAtMs;
      this.#unanswered.set(messageId, { publish, sentAtMs });
      this.#write(bytes);
    }
  }

  /** The packet, and its identifier on this connection. */
  #packetOf(publish: OutgoingPublish, topic: string) {
    const { maximumQoS = 2, retainAvailable = true } = this.#limits ?? {};
    const { payload, dup, fields, expirySeconds } = publish;
    const qos = publish.qos === 0 ? 0 : atMost(maximumQoS, this.#options.bridge.qos);
    const retain = this.#options.bridge.retain && retainAvailable;
    const expiry = encodeFields({ messageExpirySeconds: expirySeconds });
    const properties = joinFields(fields === undefined ? [expiry] : [fields, expiry]);
    const messageId = qos === 0 ? 0 : this.#unusedIdentifier(publish.messageId);
    const packet = { topic, payload, qos, retain, dup: dup && qos > 0, messageId };
    return {
      messageId,
      bytes: encodePublish(packet, this.takesProperties ? properties : undefined),
    };
  }

  /**
   * The message's own packet identifier, which it keeps when it is sent again [MQTT-4.4.0-1], unless
   * mqtt.js has given that to the SUBSCRIBE [MQTT-2.3.1-2].
   */
  #unusedIdentifier(messageId: number): number {
    let unused = messageId;
    while (unused === this.#client.getLastMessageId() || this.#unanswered.has(unused)) {
      unused = (unused % MAX_IDENTIFIER) + 1;
    }
    return unused;
  }

  /** Writes a packet; all packets of one turn of the event loop leave together. */
  #write(bytes: Buffer, onSent?: (error?: Error | null) => void): void {
    const { stream } = this.#client;
    if (!this.#isCorked) {
      this.#isCorked = true;
      stream.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        stream.uncork();
      });
    }
    stream.write(bytes, onSent);
  }

  #isHeld(publish: OutgoingPublish): boolean {
    const send = () => !this.#isEnding && this.send(publish);
    return this.#options.suspects.holds(publish, send, () => this.#unanswered.size === 0);
  }

  #takeAnswer(answer: Packet): void {
    const { cmd, messageId = 0 } = answer;
    if (cmd !== 'puback' && cmd !== 'pubrec' && cmd !== 'pubcomp') return;
    const unanswered = this.#unanswered.get(messageId);
    if (unanswered === undefined) return;
    const { reasonCode = 0 } = answer;
    if (cmd === 'pubrec' && !isFailure(reasonCode)) {
      this.#write(encodeAcknowledgement('pubrel', messageId));
      return;
    }
    this.#unanswered.delete(messageId);
    this.#lastAnswerAtMs = performance.now();
    this.#answered(unanswered.publish, reasonCode);
  }

  #answered(publish: OutgoingPublish, reasonCode: number): void {
    if (this.#isClosed || publish.messageId === 0) return;
    this.#options.suspects.answered();
    const failure = passingRefusal(reasonCode);
    if (!isFailure(reasonCode)) {
      this.#options.suspects.settled(publish);
      this.#events.acknowledged(publish.topic);
      this.#options.outlet.acknowledge(publish.messageId);
    } else if (failure === undefined || this.#isNeverTaken(publish, failure)) {
      this.#deadLetter(publish, reasonOf(reasonCode));
      this.#options.outlet.wake();
    } else {
      // The next connection resends the message, in its place in the queue.
      if (failure.kind === 'refused') this.#events.refused(publish.topic, failure.detail);
      this.#giveUp(failure);
    }
    if (this.#unanswered.size === 0) this.#onIdle?.();
  }

  /** Whether the upstream refuses this message for now, each time, and takes all others. */
  #isNeverTaken(publish: OutgoingPublish, { kind }: ConnectionFailure): boolean {
    return kind === 'refused' && this.#options.suspects.refused(publish);
  }

  #deadLetter(publish: OutgoingPublish, reason: string): void {
    this.#options.suspects.settled(publish);
    // At QoS 0 it is sent but once, whatever the upstream says.
    if (publish.messageId > 0) this.#options.outlet.deadLetter(publish, reason);
  }

  /** A connection may look alive and be dead: the network is gone, or the broker answers only pings. */
  #checkSilence(): void {
    const [oldest] = this.#unanswered.values();
    if (oldest === undefined) return;
    const timeoutMs = this.#options.bridge.ackTimeoutSeconds * 1_000;
    const nowMs = performance.now();
    const isStuck = nowMs - oldest.sentAtMs > timeoutMs * LONGEST_WAIT_TIMEOUTS;
    if (!isStuck && nowMs - this.#lastAnswerAtMs <= timeoutMs) return;
    this.#giveUp({ kind: 'silent', detail: 'no acknowledgement in time' });
  }

  /**
   * Acknowledges commands in order, once they are handled [MQTT-4.6.0-2].
   *
   * Meanwhile mqtt.js reads on: otherwise it would take neither acknowledgements nor PINGRESP.
   */
  #received(packet: IPublishPacket, done: (error?: Error) => void): void {
    if (this.#isEnding) {
      // A later connection gets it again.
      done(NOT_ACKNOWLEDGED);
      return;
    }
    this.#waitingCommands++;
    const isRoom = this.#waitingCommands <= MAX_WAITING_COMMANDS;
    if (isRoom) done(NOT_ACKNOWLEDGED);
    const earlier = this.#commands;
    const handled = this.#options.inbound.accept(packet);
    this.#commands = Promise.allSettled([handled, earlier]).then(([{ status }]) => {
      if (status === 'fulfilled') this.#acknowledge(packet);
      else this.#giveUp({ kind: 'store', detail: 'a command could not be stored' });
      this.#waitingCommands--;
      if (!isRoom) done(NOT_ACKNOWLEDGED);
    });
  }

  #acknowledge({ qos, messageId = 0 }: IPublishPacket): void {
    if (qos === 0 || this.#isClosed || !this.#client.stream.writable) return;
    this.#write(encodeAcknowledgement('puback', messageId));
  }

  #giveUp(failure: ConnectionFailure, isAboutMessage = false): void {
    this.#failure ??= failure;
    this.#closed(isAboutMessage);
  }

  /** @param isAboutMessage whether the upstream's reason may be a message in flight */
  #closed(isAboutMessage = false): void {
    if (this.#isClosed) return;
    const failure = this.#failure ?? { kind: 'closed', detail: 'without a reason' };
    const reason = isAboutMessage ? failure.detail : HUNG_UP;
    const mayBeMessage = isAboutMessage || failure.kind === 'closed';
    const inFlight = mayBeMessage ? [...this.#unanswered.values()] : [];
    // First: a message that becomes a dead letter here was sent on this connection.
    if (this.#options.suspects.hungUp(inFlight, isAboutMessage)) {
      for (const { publish } of inFlight) this.#deadLetter(publish, reason);
    }
    this.#stop();
    this.#client.end(true);
    this.#resolveClosed(failure);
  }

  #stop(): void {
    this.#isClosed = true;
    this.#isEnding = true;
    clearInterval(this.#silenceTimer);
    this.#options.outlet.disconnect(this);
  }
}

/**
 * Options of mqtt.js for one connection. Certificates are read again each time, so that renewed ones take effect.
 *
 * @throws Error of the file system
 */
async function clientOptions(options: UpstreamOptions): Promise<IClientOptions> {
  const { bridge, clientId, protocol, maxPacketBytes, forgetsSession } = options;
  const { username, password, caFile, certFile, keyFile, serverName } = bridge;
  // The upstream keeps a session, so that no command is lost while the bridge is away. Not at QoS 2: it would remember
  // packet identifiers that the next connection gives to other messages, and drop those as repetitions [MQTT-4.3.3-2].
  const clean = forgetsSession || bridge.commands.length === 0 || bridge.qos === 2;
  const sessionExpiryInterval = bridge.maxQueuedHours * SECONDS_PER_HOUR;
  return {
    clientId,
    protocolVersion: protocol,
    clean,
    ...(protocol === 5 && {
      properties: {
        receiveMaximum: MAX_WAITING_COMMANDS,
        maximumPacketSize: maxPacketBytes,
        ...(!clean && { sessionExpiryInterval }),
      },
    }),
    keepalive: bridge.keepAliveSeconds,
    // Pings while messages are sent as well: this detects a broker that answers neither.
    reschedulePings: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    // Its debugging output costs time for each packet, even while it is off.
    log: () => undefined,
    resubscribe: false,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(caFile !== undefined && { ca: await readFile(caFile) }),
    ...(certFile !== undefined && { cert: await readFile(certFile) }),
    ...(keyFile !== undefined && { key: await readFile(keyFile) }),
    ...(serverName !== undefined && { servername: serverName }),
    rejectUnauthorized: true,
    wsOptions: {
      // For a WebSocket, mqtt.js passes certificates on but not the server name.
      ...(serverName !== undefined && { servername: serverName, rejectUnauthorized: true }),
      maxPayload: maxGatheredBytes(options),
    },
  };
}

/** The largest packet, and the largest frame of a WebSocket, that is gathered in memory. */
function maxGatheredBytes({ maxPacketBytes }: UpstreamOptions): number {
  return Math.max(MIN_GATHERED_BYTES, GATHERED_TIMES * maxPacketBytes);
}

function atMost(max: number, qos: 0 | 1 | 2): 0 | 1 | 2 {
  if (qos <= max) return qos;
  return max === 1 ? 1 : 0;
}
