import type { MqttClient } from 'mqtt';
import { ErrorWithReasonCode } from 'mqtt';
import type { OutgoingPublish } from '../delivery/receiver.js';
import { parseBridgedCommand } from '../domain/bridge-topics.js';
import { AckWatch } from './ack-watch.js';
import {
  type ConnectionFailure,
  failureOfCode,
  makesDeadLetter,
  PACKET_TOO_LARGE,
  reasonOf,
} from './connection-failure.js';
import type { HangUps } from './hang-ups.js';
import { packetBytes, type UpstreamLimits } from './upstream-limits.js';

/** [MQTT-1.5.4] */
const MAX_TOPIC_BYTES = 65_535;
const HUNG_UP = 'Connection closed each time';

export interface SenderOptions {
  readonly topicOf: (forwardedTopic: string) => string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Filters to subscribe to; empty for none. */
  readonly commands: readonly string[];
  readonly ackTimeoutMs: number;
  /**
   * How many messages to send one by one, so that the upstream shows which of them it does not
   * take.
   */
  readonly suspects: number;
  readonly hangUps: HangUps;
}

/** Outcomes of the messages that a connection was given to send. */
export interface SenderEvents {
  /** The connection takes messages again. */
  writable(): void;
  acknowledged(messageId: number): void;
  /** The upstream never takes the message. */
  deadLettered(publish: OutgoingPublish, reason: string): void;
  /** The connection must be given up. */
  giveUp(failure: ConnectionFailure): void;
}

/** Sends messages over one connection, and follows what the upstream answers to each. */
export class UpstreamSender {
  readonly #client: MqttClient;
  readonly #options: SenderOptions;
  readonly #events: SenderEvents;
  readonly #watch: AckWatch;
  #limits: UpstreamLimits | undefined;
  readonly #unanswered = new Map<number, OutgoingPublish>();
  /** Messages that are held back (`HangUps`). */
  #held: OutgoingPublish[] = [];
  /** How many more of the next messages are to be held back. */
  #toHold: number;
  #holdTimer: NodeJS.Timeout | undefined;
  #answeredCount = 0;
  #lastSentAtMs = 0;
  #suspects = 0;
  #isEnding = false;
  #isStopped = false;

  constructor(client: MqttClient, options: SenderOptions, events: SenderEvents) {
    this.#client = client;
    this.#options = options;
    this.#events = events;
    this.#toHold = options.hangUps.held;
    this.#watch = new AckWatch(options.ackTimeoutMs, () =>
      events.giveUp({ kind: 'silent', detail: 'no acknowledgement in time' }),
    );
  }

  get isWritable(): boolean {
    if (this.#isEnding || this.#limits === undefined) return false;
    const mustWait = this.#isOneByOne && this.#unanswered.size > 0;
    return !mustWait && !this.#client.stream.writableNeedDrain;
  }

  get maxInFlight(): number | undefined {
    return this.#limits?.maxInFlight;
  }

  /** How many messages the next connection is to send one by one. */
  get suspects(): number {
    return this.#suspects;
  }

  get #isOneByOne(): boolean {
    const { hangUps, suspects } = this.#options;
    return hangUps.isSuspecting || this.#held.length > 0 || this.#answeredCount < suspects;
  }

  start(limits: UpstreamLimits): void {
    this.#limits = limits;
  }

  send(publish: OutgoingPublish): void {
    const limits = this.#limits;
    if (limits === undefined) return;
    // At QoS 0 no answer shows that the upstream did not hang up at this one.
    if (publish.messageId === 0 && this.#isOneByOne) return;
    const topic = this.#options.topicOf(publish.topic);
    if (this.#options.commands.length > 0 && parseBridgedCommand(topic) !== undefined) {
      this.#events.deadLettered(publish, 'it would come back as a command');
    } else if (Buffer.byteLength(topic) > MAX_TOPIC_BYTES) {
      this.#events.deadLettered(publish, 'its topic upstream is too long');
    } else if (
      packetBytes(topic, publish.payload, this.#qosOf(publish, limits)) > limits.maxPacketBytes
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
    this.#suspects = this.#unanswered.size;
    if (!this.#isOneByOne) return;
    for (const publish of this.#unanswered.values()) this.#deadLetter(publish, reasonOf(code));
    this.#unanswered.clear();
  }

  /** Handles a connection that the upstream has closed without a telling reason. */
  hungUp(): void {
    const [publish] = this.#unanswered.values();
    if (publish === undefined) return;
    const { hangUps } = this.#options;
    if (this.#isOneByOne || this.#answeredCount === 0) this.#suspects = this.#unanswered.size;
    const answerMs = performance.now() - this.#lastSentAtMs;
    if (this.#unanswered.size > 1 || answerMs > hangUps.limits.maxAnswerMs) return;
    if (hangUps.hungUpAt(publish, this.#answeredCount > 0)) this.#deadLetter(publish, HUNG_UP);
  }

  /** Sends nothing new, but still takes acknowledgements. */
  stopSending(): void {
    this.#isEnding = true;
    clearTimeout(this.#holdTimer);
  }

  stop(): void {
    this.stopSending();
    this.#isStopped = true;
    this.#watch.stop();
  }

  #qosOf({ qos }: OutgoingPublish, { maxQos }: UpstreamLimits): 0 | 1 | 2 {
    return qos === 0 ? 0 : smaller(this.#options.qos, maxQos);
  }

  #publish(publish: OutgoingPublish, topic: string, limits: UpstreamLimits): void {
    const { payload, messageId, dup } = publish;
    const qos = this.#qosOf(publish, limits);
    const retain = this.#options.retain && limits.takesRetained;
    if (qos > 0) {
      this.#watch.sent(messageId);
      this.#unanswered.set(messageId, publish);
      this.#lastSentAtMs = performance.now();
    }
    this.#client.publish(topic, payload, { qos, retain, dup: dup && qos > 0 }, (error) => {
      const answer = error ?? undefined;
      // At QoS 0 mqtt.js may call this before `publish` returns, when the message is not yet sent.
      if (qos === 0) setImmediate(() => this.#answered(publish, answer));
      else this.#answered(publish, answer);
    });
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

  #answered(publish: OutgoingPublish, error: Error | undefined): void {
    const isEndOfConnection = error !== undefined && !(error instanceof ErrorWithReasonCode);
    // `close` reports the end of the connection.
    if (this.#isStopped || isEndOfConnection || publish.messageId === 0) return;
    this.#watch.answered(publish.messageId);
    this.#unanswered.delete(publish.messageId);
    this.#answeredCount++;
    // In the order of the queue: held messages go before later ones.
    this.#sendHeld();
    if (error === undefined) {
      this.#options.hangUps.answered(publish);
      this.#events.acknowledged(publish.messageId);
    } else if (makesDeadLetter(error.code)) {
      this.#deadLetter(publish, reasonOf(error.code));
      this.#events.writable();
    } else {
      // The message is sent again on the next connection, at its place.
      this.#events.giveUp(failureOfCode(error.code));
    }
  }

  #deadLetter(publish: OutgoingPublish, reason: string): void {
    this.#options.hangUps.answered(publish);
    this.#events.deadLettered(publish, reason);
  }
}

function smaller(one: 0 | 1 | 2, other: 0 | 1 | 2): 0 | 1 | 2 {
  return one < other ? one : other;
}
