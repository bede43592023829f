/**
 * One connection to an upstream broker, from its first packet to its end: messages out, the upstream's answer to each,
 * and commands in.
 *
 * The bridge makes the next one. mqtt.js neither reconnects nor stores anything: unacknowledged messages stay in the
 * queue. PUBLISHes bypass it. It would copy and store each message, write it in parts, and change the order of its
 * properties.
 */
import type { IClientOptions, IConnackPacket, IPublishPacket, MqttClient } from 'mqtt';
import { connect, ReasonCodes } from 'mqtt';
import { generate, type Packet } from 'mqtt-packet';
import constants from 'mqtt-packet/constants.js';
import type { OutgoingPublish, Receiver } from '../delivery/message.js';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import {
  type BridgeTopic,
  bridgedTopic,
  parseBridgedCommand,
  parseBridgeTopic,
} from '../domain/bridge-topics.js';
import { encodeAcknowledgement, encodePublish } from '../mqtt/encode.js';
import { encodeFields, joinFields } from '../mqtt/properties.js';
import {
  type ConnectionFailure,
  failureOfCode,
  failureOfError,
  isFailure,
  makesDeadLetter,
  mayBeAboutMessage,
  PACKET_TOO_LARGE,
  reasonOf,
  refusalOf,
  tooLarge,
} from './connection-failure.js';
import type { HangUps } from './hang-ups.js';

// Makes mqtt.js accept "packet too large" in a PUBACK. MQTT 5 does not allow it there (3.4.2.1), but Mosquitto 2.0
// sends it beyond its `message_size_limit`. mqtt.js would end the connection, and the same message would come first
// on the next one, for ever.
constants.MQTT5_PUBACK_PUBREC_CODES[PACKET_TOO_LARGE] = ReasonCodes[PACKET_TOO_LARGE];

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
export const MAX_WAITING_COMMANDS = 100;
/** Lets mqtt.js read on without a PUBACK. */
const NOT_ACKNOWLEDGED = new Error('not acknowledged yet');
const HUNG_UP = 'Connection closed each time';

/** A version of MQTT as its CONNECT names it. */
export type ProtocolVersion = 4 | 5;

export interface UpstreamOptions {
  readonly bridge: BridgeOptions;
  readonly protocol: ProtocolVersion;
  readonly client: IClientOptions;
  /** The largest packet, and the largest frame of a WebSocket, that is gathered. */
  readonly maxGatheredBytes: number;
  readonly hangUps: HangUps;
}

/** Events of one connection. */
export interface UpstreamEvents {
  connected(): void;
  /** The connection takes messages again. */
  writable(): void;
  acknowledged(publish: OutgoingPublish): void;
  /** The upstream does not take the message now. */
  refused(publish: OutgoingPublish, reason: string): void;
  /** The upstream never takes the message. */
  deadLettered(publish: OutgoingPublish, reason: string): void;
  /** Rejects when the command could not be handled: the upstream must resend it. */
  received(packet: IPublishPacket): Promise<void>;
  /** Whether the upstream denied a filter of `commands`. */
  commandsAnswered(areDenied: boolean): void;
}

/** A message at QoS 1 or 2 that the upstream has not answered. */
interface Unanswered {
  readonly publish: OutgoingPublish;
  readonly sentAtMs: number;
}

export class Upstream implements Receiver {
  /** Resolves once, with the reason, when the connection is gone. */
  readonly closed: Promise<ConnectionFailure>;
  #resolveClosed: (failure: ConnectionFailure) => void = () => undefined;
  readonly #options: UpstreamOptions;
  readonly #events: UpstreamEvents;
  readonly #client: MqttClient;
  readonly #topic: BridgeTopic;
  readonly #silenceTimer: NodeJS.Timeout;
  /** By their packet identifier on this connection, the oldest first. */
  readonly #unanswered = new Map<number, Unanswered>();
  /** Undefined until the upstream has accepted the connection. */
  #limits: UpstreamLimits | undefined;
  /** Time of the last answer, or of the first message since none was in flight. */
  #lastAnswerAtMs = 0;
  #answeredCount = 0;
  /** How many of the first messages to send one by one. */
  #toTest = 0;
  /** Messages that are held back (`HangUps`). */
  #held: OutgoingPublish[] = [];
  /** How many of the next messages to hold back. */
  #toHold: number;
  #holdTimer: NodeJS.Timeout | undefined;
  /** Commands are acknowledged in order. */
  #commands: Promise<unknown> = Promise.resolve();
  #waitingCommands = 0;
  #isCorked = false;
  #failure: ConnectionFailure | undefined;
  /** Whether only acknowledgements are taken. */
  #isEnding = false;
  #onIdle: (() => void) | undefined;
  #isClosed = false;

  /** @throws Error when a certificate is not one */
  constructor(options: UpstreamOptions, events: UpstreamEvents) {
    this.#options = options;
    this.#events = events;
    const { bridge, hangUps } = options;
    // First: nothing may have been started if it throws.
    const client = connect(bridge.url, options.client);
    this.#client = client;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#topic = parseBridgeTopic(bridge.topic) ?? [];
    this.#toHold = hangUps.held;
    const checkMs = (bridge.ackTimeoutSeconds * 1_000) / CHECKS_PER_TIMEOUT;
    this.#silenceTimer = setInterval(() => this.#checkSilence(), checkMs);
    client.handleMessage = (packet, done) => this.#received(packet, done);
    client.on('connect', (connack) => this.#connected(connack));
    client.on('error', (error) => this.#noteFailure(failureOfError(error)));
    client.on('disconnect', ({ reasonCode = 0 }) => this.#sentAway(reasonCode));
    client.on('packetreceive', (packet) => this.#takeAnswer(packet));
    client.on('close', () => {
      if (!this.#isEnding) this.#closed();
    });
    client.stream.on('drain', () => events.writable());
    this.#boundGathered(2 * options.maxGatheredBytes);
  }

  /** Whether the upstream has accepted the connection. */
  get wasAccepted(): boolean {
    return this.#limits !== undefined;
  }

  get isWritable(): boolean {
    if (!this.wasAccepted || this.#isClosed || this.#isEnding) return false;
    if (this.#isOneByOne && this.#unanswered.size > 0) return false;
    return this.#client.stream.writableLength < MAX_UNSENT_BYTES;
  }

  get takesProperties(): boolean {
    return this.#options.protocol === 5;
  }

  get maxInFlight(): number {
    return Math.min(this.#limits?.maxInFlight ?? MAX_UNANSWERED, MAX_UNANSWERED);
  }

  send(publish: OutgoingPublish): boolean {
    const limits = this.#limits;
    // A QoS 0 message gets no answer to show that the upstream did not hang up at it.
    if (limits === undefined || (publish.messageId === 0 && this.#isOneByOne)) return true;
    const topic = bridgedTopic(this.#topic, publish.topic);
    const packet = this.#packetOf(publish, topic, limits);
    const { commands } = this.#options.bridge;
    if (commands.length > 0 && parseBridgedCommand(topic) !== undefined) {
      this.#events.deadLettered(publish, 'it would come back as a command');
    } else if (packet === undefined) {
      this.#events.deadLettered(publish, 'its topic upstream is too long');
    } else if (packet.bytes.length > limits.maxPacketBytes) {
      this.#events.deadLettered(publish, reasonOf(PACKET_TOO_LARGE));
    } else if (this.#isToHold(publish)) {
      this.#hold(publish);
    } else {
      this.#publish(publish, packet);
    }
    return true;
  }

  /** Awaits acknowledgements, then disconnects. */
  async end(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#holdTimer);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#onIdle = () => {
        this.#client.end(false, () => {
          clearTimeout(timer);
          resolve();
        });
      };
      if (this.#unanswered.size === 0) this.#onIdle();
    });
    this.#stop();
    // Not `end(true)`, which does nothing while mqtt.js waits for a SUBACK.
    this.#client.stream.destroy();
    this.#resolveClosed({ kind: 'closed', detail: 'by the bridge' });
  }

  get #isOneByOne(): boolean {
    const isSuspecting = this.#options.hangUps.isSuspecting || this.#held.length > 0;
    return isSuspecting || this.#answeredCount < this.#toTest;
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
      if (gathered > maxBytes) this.#giveUp(tooLarge());
    });
  }

  #connected(connack: IConnackPacket): void {
    if (this.#isClosed) return;
    this.#limits = limitsOf(connack);
    this.#toTest = this.#options.hangUps.takeToTest();
    const { commands } = this.#options.bridge;
    if (commands.length > 0) this.#subscribe(commands);
    this.#events.connected();
  }

  #subscribe(commands: readonly string[]): void {
    // No Local (MQTT 5, 3.8.3.1): messages that the bridge sent do not come back.
    const options = { qos: 1, nl: true, rap: false, rh: 2 } as const;
    this.#client.subscribe([...commands], options, (error, _, suback) => {
      // Without a SUBACK the connection has ended.
      if (suback !== undefined && !this.#isClosed) this.#events.commandsAnswered(error !== null);
    });
  }

  /** The packet, and its identifier on this connection; undefined if its topic is too long. */
  #packetOf(publish: OutgoingPublish, topic: string, limits: UpstreamLimits) {
    if (Buffer.byteLength(topic) > MAX_TOPIC_BYTES) return undefined;
    const { bridge, protocol } = this.#options;
    const { payload, dup, fields, expirySeconds } = publish;
    const qos = publish.qos === 0 ? 0 : smaller(bridge.qos, limits.maxQos);
    const retain = bridge.retain && limits.takesRetained;
    const expiry = encodeFields({ messageExpirySeconds: expirySeconds });
    const properties =
      protocol === 5 ? joinFields(fields === undefined ? [expiry] : [fields, expiry]) : undefined;
    const messageId = qos === 0 ? 0 : this.#unusedIdentifier(publish.messageId);
    const packet = { topic, payload, qos, retain, dup: dup && qos > 0, messageId };
    return { messageId, bytes: encodePublish(packet, properties) };
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

  #publish(
    publish: OutgoingPublish,
    { messageId, bytes }: { readonly messageId: number; readonly bytes: Buffer },
  ): void {
    if (messageId === 0) {
      this.#write(bytes, (error) => error ?? this.#answered(publish, 0));
      return;
    }
    const sentAtMs = performance.now();
    if (this.#unanswered.size === 0) this.#lastAnswerAtMs = sentAtMs;
    this.#unanswered.set(messageId, { publish, sentAtMs });
    this.#write(bytes);
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

  #isToHold(publish: OutgoingPublish): boolean {
    if (this.#toHold === 0) return false;
    // Only the suspect and the messages right after it: those before are tried anyway.
    return this.#held.length > 0 || this.#options.hangUps.isSuspect(publish);
  }

  #hold(publish: OutgoingPublish): void {
    this.#toHold--;
    this.#held.push(publish);
    this.#holdTimer ??= setTimeout(() => {
      if (this.#unanswered.size === 0) this.#sendHeld();
    }, this.#options.hangUps.limits.maxHoldMs);
  }

  #sendHeld(): void {
    this.#toHold = 0;
    const publish = this.#isEnding ? undefined : this.#held.shift();
    if (publish !== undefined) this.send(publish);
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
    this.#answeredCount++;
    // In the order of the queue: held messages go before later ones.
    this.#sendHeld();
    if (!isFailure(reasonCode)) {
      this.#options.hangUps.answered(publish);
      this.#events.acknowledged(publish);
    } else if (makesDeadLetter(reasonCode)) {
      this.#deadLetter(publish, reasonOf(reasonCode));
      this.#events.writable();
    } else {
      // The next connection resends the message, in its place in the queue.
      this.#retryLater(publish, refusalOf(reasonCode));
    }
    if (this.#unanswered.size === 0) this.#onIdle?.();
  }

  /** Has the next connection send the message again, unless the upstream takes all others and never this one. */
  #retryLater(publish: OutgoingPublish, failure: ConnectionFailure): void {
    if (failure.kind !== 'refused') {
      this.#giveUp(failure);
      return;
    }
    const hasAnsweredOthers = this.#answeredCount > 1;
    if (this.#options.hangUps.hungUpAt(publish, hasAnsweredOthers)) {
      this.#deadLetter(publish, failure.detail);
      this.#events.writable();
      return;
    }
    this.#events.refused(publish, failure.detail);
    this.#giveUp(failure);
  }

  #deadLetter(publish: OutgoingPublish, reason: string): void {
    this.#options.hangUps.answered(publish);
    this.#events.deadLettered(publish, reason);
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

  /** Handles a DISCONNECT; its reason may be about a message. */
  #sentAway(reasonCode: number): void {
    if (this.#isClosed) return;
    this.#noteFailure(failureOfCode(reasonCode));
    if (!mayBeAboutMessage(reasonCode)) return;
    this.#options.hangUps.test(this.#unanswered.size);
    if (!this.#isOneByOne) return;
    const all = [...this.#unanswered.values()];
    this.#unanswered.clear();
    for (const { publish } of all) this.#deadLetter(publish, reasonOf(reasonCode));
  }

  /** Handles a connection that the upstream has closed without a telling reason. */
  #hungUp(): void {
    const [first] = this.#unanswered.values();
    if (first === undefined) return;
    const { hangUps } = this.#options;
    const { publish, sentAtMs } = first;
    if (this.#isOneByOne || this.#answeredCount === 0) hangUps.test(this.#unanswered.size);
    const answerMs = performance.now() - sentAtMs;
    if (this.#unanswered.size > 1 || answerMs > hangUps.limits.maxAnswerMs) return;
    if (hangUps.hungUpAt(publish, this.#answeredCount > 0)) this.#deadLetter(publish, HUNG_UP);
  }

  /**
   * Acknowledges commands in order, once they are handled [MQTT-4.6.0-2].
   *
   * Meanwhile mqtt.js reads on: otherwise it would take neither acknowledgements nor PINGRESP.
   */
  #received(packet: IPublishPacket, done: (error?: Error) => void): void {
    if (this.#isEnding || this.#isClosed) {
      // A later connection gets it again.
      done(NOT_ACKNOWLEDGED);
      return;
    }
    this.#waitingCommands++;
    const isRoom = this.#waitingCommands <= MAX_WAITING_COMMANDS;
    if (isRoom) done(NOT_ACKNOWLEDGED);
    const earlier = this.#commands;
    const handled = this.#events.received(packet);
    this.#commands = Promise.allSettled([handled, earlier]).then(([{ status }]) => {
      if (status === 'fulfilled') this.#acknowledge(packet);
      else this.#giveUp({ kind: 'store', detail: 'a command could not be stored' });
      this.#waitingCommands--;
      if (!isRoom) done(NOT_ACKNOWLEDGED);
    });
  }

  #acknowledge({ qos, messageId = 0 }: IPublishPacket): void {
    const { stream, options } = this.#client;
    if (qos === 0 || this.#isClosed || !stream.writable) return;
    stream.write(generate({ cmd: 'puback', messageId, reasonCode: 0 }, options));
  }

  #noteFailure(failure: ConnectionFailure): void {
    this.#failure ??= failure;
  }

  #giveUp(failure: ConnectionFailure): void {
    if (this.#isClosed) return;
    this.#noteFailure(failure);
    this.#client.end(true);
    this.#closed();
  }

  #closed(): void {
    if (this.#isClosed) return;
    const failure = this.#failure ?? { kind: 'closed', detail: 'without a reason' };
    // First: a message that becomes a dead letter here was sent on this connection.
    if (failure.kind === 'closed') this.#hungUp();
    this.#stop();
    this.#client.end(true);
    this.#resolveClosed(failure);
  }

  #stop(): void {
    this.#isClosed = true;
    this.#isEnding = true;
    clearTimeout(this.#holdTimer);
    clearInterval(this.#silenceTimer);
  }
}

/** Limits in an upstream's CONNACK (MQTT 5, 3.2.2.3); MQTT 3.1.1 has none. */
interface UpstreamLimits {
  /** Undefined: no limit. */
  readonly maxInFlight: number | undefined;
  readonly maxPacketBytes: number;
  readonly maxQos: 0 | 1 | 2;
  readonly takesRetained: boolean;
}

function limitsOf({ properties }: IConnackPacket): UpstreamLimits {
  const { receiveMaximum, maximumPacketSize, maximumQoS, retainAvailable } = properties ?? {};
  return {
    maxInFlight: receiveMaximum,
    maxPacketBytes: maximumPacketSize ?? Number.POSITIVE_INFINITY,
    maxQos: maximumQoS === 0 || maximumQoS === 1 ? maximumQoS : 2,
    takesRetained: retainAvailable !== false,
  };
}

function smaller(one: 0 | 1 | 2, other: 0 | 1 | 2): 0 | 1 | 2 {
  return one < other ? one : other;
}
