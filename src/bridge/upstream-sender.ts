import type { IConnackPacket, MqttClient } from 'mqtt';
import type { OutgoingPublish } from '../delivery/message.js';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import {
  type BridgeTopic,
  bridgedTopic,
  parseBridgedCommand,
  parseBridgeTopic,
} from '../domain/bridge-topics.js';
import { publishBytes } from '../mqtt/encode.js';
import { encodeFields, joinFields } from '../mqtt/properties.js';
import {
  type ConnectionFailure,
  isFailure,
  makesDeadLetter,
  PACKET_TOO_LARGE,
  reasonOf,
  refusalOf,
} from './connection-failure.js';
import type { HangUps } from './hang-ups.js';
import { MAX_UNANSWERED, PublishStream } from './publish-stream.js';

/** [MQTT-1.5.4] */
const MAX_TOPIC_BYTES = 65_535;
const HUNG_UP = 'Connection closed each time';

/** A version of MQTT as its CONNECT names it. */
export type ProtocolVersion = 4 | 5;

export interface SenderOptions {
  readonly bridge: BridgeOptions;
  readonly protocol: ProtocolVersion;
  readonly hangUps: HangUps;
}

/** Outcomes of the messages that a connection was given to send. */
export interface SenderEvents {
  /** The connection takes messages again. */
  writable(): void;
  acknowledged(publish: OutgoingPublish): void;
  /** The upstream never takes the message. */
  deadLettered(publish: OutgoingPublish, reason: string): void;
  /** The upstream does not take the message now. */
  refused(publish: OutgoingPublish, reason: string): void;
  /** The connection must be given up. */
  giveUp(failure: ConnectionFailure): void;
}

/** Sends messages over one connection, and handles the upstream's answer to each. */
export class UpstreamSender {
  readonly #options: SenderOptions;
  readonly #events: SenderEvents;
  readonly #topic: BridgeTopic;
  readonly #stream: PublishStream;
  #limits: UpstreamLimits | undefined;
  /** Messages that are held back (`HangUps`). */
  #held: OutgoingPublish[] = [];
  /** How many of the next messages to hold back. */
  #toHold: number;
  #holdTimer: NodeJS.Timeout | undefined;
  #answeredCount = 0;
  /** How many of the first messages to send one by one. */
  #toTest = 0;
  #isEnding = false;
  #isStopped = false;
  #onIdle: (() => void) | undefined;

  constructor(client: MqttClient, options: SenderOptions, events: SenderEvents) {
    this.#options = options;
    this.#events = events;
    this.#toHold = options.hangUps.held;
    this.#topic = parseBridgeTopic(options.bridge.topic) ?? [];
    this.#stream = new PublishStream({
      client,
      ackTimeoutMs: options.bridge.ackTimeoutSeconds * 1000,
      onAnswer: (publish, code) => this.#answered(publish, code),
      onSilence: () => events.giveUp({ kind: 'silent', detail: 'no acknowledgement in time' }),
    });
  }

  get isWritable(): boolean {
    if (this.#isEnding || this.#limits === undefined) return false;
    const mustWait = this.#isOneByOne && this.#stream.unansweredCount > 0;
    return !mustWait && this.#stream.isWritable;
  }

  get maxInFlight(): number {
    return Math.min(this.#limits?.maxInFlight ?? MAX_UNANSWERED, MAX_UNANSWERED);
  }

  get #isOneByOne(): boolean {
    const isSuspecting = this.#options.hangUps.isSuspecting || this.#held.length > 0;
    return isSuspecting || this.#answeredCount < this.#toTest;
  }

  /** Begins to send: the upstream has accepted the connection. */
  start(connack: IConnackPacket): void {
    this.#limits = limitsOf(connack);
    this.#toTest = this.#options.hangUps.takeToTest();
  }

  send(publish: OutgoingPublish): void {
    const limits = this.#limits;
    if (limits === undefined) return;
    // A QoS 0 message gets no answer to show that the upstream did not hang up at it.
    if (publish.messageId === 0 && this.#isOneByOne) return;
    const topic = bridgedTopic(this.#topic, publish.topic);
    if (this.#options.bridge.commands.length > 0 && parseBridgedCommand(topic) !== undefined) {
      this.#events.deadLettered(publish, 'it would come back as a command');
    } else if (Buffer.byteLength(topic) > MAX_TOPIC_BYTES) {
      this.#events.deadLettered(publish, 'its topic upstream is too long');
    } else if (
      publishBytes(
        topic,
        publish.payload,
        this.#qosOf(publish, limits),
        this.#propertiesOf(publish),
      ) > limits.maxPacketBytes
    ) {
      this.#events.deadLettered(publish, reasonOf(PACKET_TOO_LARGE));
    } else if (this.#isToHold(publish)) {
      this.#hold(publish);
    } else {
      this.#publish(publish, topic, limits);
    }
  }

  /** Handles a DISCONNECT whose reason is about a message. */
  sentAway(code: number): void {
    this.#stream.takeAnswers();
    this.#options.hangUps.test(this.#stream.unansweredCount);
    if (!this.#isOneByOne) return;
    for (const { publish } of this.#stream.forgetUnanswered()) {
      this.#deadLetter(publish, reasonOf(code));
    }
  }

  /** Handles a connection that the upstream has closed without a telling reason. */
  hungUp(): void {
    this.#stream.takeAnswers();
    const { unanswered } = this.#stream;
    const [first] = unanswered;
    if (first === undefined) return;
    const { hangUps } = this.#options;
    const { publish, sentAtMs } = first;
    if (this.#isOneByOne || this.#answeredCount === 0) hangUps.test(unanswered.length);
    const answerMs = performance.now() - sentAtMs;
    if (unanswered.length > 1 || answerMs > hangUps.limits.maxAnswerMs) return;
    if (hangUps.hungUpAt(publish, this.#answeredCount > 0)) this.#deadLetter(publish, HUNG_UP);
  }

  /**
   * Sends nothing new, but still takes acknowledgements.
   *
   * @param onIdle called once everything is acknowledged
   */
  stopSending(onIdle?: () => void): void {
    this.#isEnding = true;
    clearTimeout(this.#holdTimer);
    this.#onIdle = onIdle;
    if (this.#stream.unansweredCount === 0) onIdle?.();
  }

  stop(): void {
    this.stopSending();
    this.#isStopped = true;
    this.#stream.stop();
  }

  #qosOf({ qos }: OutgoingPublish, { maxQos }: UpstreamLimits): 0 | 1 | 2 {
    return qos === 0 ? 0 : smaller(this.#options.bridge.qos, maxQos);
  }

  #publish(publish: OutgoingPublish, topic: string, limits: UpstreamLimits): void {
    const { payload, dup } = publish;
    const { bridge } = this.#options;
    const qos = this.#qosOf(publish, limits);
    const retain = bridge.retain && limits.takesRetained;
    const packet = { topic, payload, qos, retain, dup: dup && qos > 0 };
    this.#stream.publish(publish, packet, this.#propertiesOf(publish));
  }

  /** Undefined before MQTT 5. */
  #propertiesOf({ fields, expirySeconds }: OutgoingPublish): Buffer | undefined {
    if (this.#options.protocol !== 5) return undefined;
    const expiry = encodeFields({ messageExpirySeconds: expirySeconds });
    return joinFields(fields === undefined ? [expiry] : [fields, expiry]);
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
      if (this.#stream.unansweredCount === 0) this.#sendHeld();
    }, this.#options.hangUps.limits.maxHoldMs);
  }

  #sendHeld(): void {
    this.#toHold = 0;
    const publish = this.#isEnding ? undefined : this.#held.shift();
    if (publish !== undefined) this.send(publish);
  }

  #answered(publish: OutgoingPublish, reasonCode: number): void {
    if (this.#isStopped || publish.messageId === 0) return;
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
    if (this.#stream.unansweredCount === 0) this.#onIdle?.();
  }

  /** Has the next connection send the message again, unless the upstream takes all others and never this one. */
  #retryLater(publish: OutgoingPublish, failure: ConnectionFailure): void {
    if (failure.kind !== 'refused') {
      this.#events.giveUp(failure);
      return;
    }
    const hasAnsweredOthers = this.#answeredCount > 1;
    if (this.#options.hangUps.hungUpAt(publish, hasAnsweredOthers)) {
      this.#deadLetter(publish, failure.detail);
      this.#events.writable();
      return;
    }
    this.#events.refused(publish, failure.detail);
    this.#events.giveUp(failure);
  }

  #deadLetter(publish: OutgoingPublish, reason: string): void {
    this.#options.hangUps.answered(publish);
    this.#events.deadLettered(publish, reason);
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
