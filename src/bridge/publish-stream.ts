import type { MqttClient } from 'mqtt';
import type { Packet } from 'mqtt-packet';
import type { OutgoingPublish } from '../delivery/message.js';
import { type EncodedPublish, encodeAcknowledgement, encodePublish } from '../mqtt/encode.js';
import { isFailure } from './connection-failure.js';

/** One packet identifier is left for the SUBSCRIBE. */
export const MAX_UNANSWERED = 65_534;
const MAX_IDENTIFIER = 65_535;
/** Bytes that may wait for the network: several times what is sent in one turn of the event loop. */
const MAX_UNSENT_BYTES = 256 * 1024;
/** A single message may wait longer than the timeout while others are acknowledged. */
const LONGEST_WAIT_TIMEOUTS = 6;
const CHECKS_PER_TIMEOUT = 4;

/** A message at QoS 1 or 2 that the upstream has not answered. */
export interface Unanswered {
  readonly publish: OutgoingPublish;
  readonly sentAtMs: number;
}

export interface PublishStreamOptions {
  readonly client: MqttClient;
  readonly ackTimeoutMs: number;
  /** Called with each answer's reason code, and with 0 for a QoS 0 message that is sent. */
  readonly onAnswer: (publish: OutgoingPublish, reasonCode: number) => void;
  /**
   * Called, perhaps more than once, when nothing has been acknowledged in time.
   *
   * A connection may look alive and be dead: the network is gone, or the broker answers only pings.
   */
  readonly onSilence: () => void;
}

/**
 * Writes PUBLISHes to a connection and takes the upstream's answers, bypassing mqtt.js.
 *
 * mqtt.js copies and stores each message, writes it in parts, and takes a turn of its own for each
 * acknowledgement. It ignores acknowledgements of messages that it has not sent itself.
 */
export class PublishStream {
  readonly #options: PublishStreamOptions;
  /** By their packet identifier on this connection, the oldest first. */
  readonly #unanswered = new Map<number, Unanswered>();
  readonly #timer: NodeJS.Timeout;
  /** Time of the last acknowledgement, or of the first message since none was in flight. */
  #lastAnswerAtMs = 0;
  #answers: Packet[] = [];
  #isCorked = false;

  constructor(options: PublishStreamOptions) {
    this.#options = options;
    const { client, ackTimeoutMs } = options;
    this.#timer = setInterval(() => this.#checkSilence(), ackTimeoutMs / CHECKS_PER_TIMEOUT);
    client.on('packetreceive', (packet) => {
      const { cmd } = packet;
      if (cmd === 'puback' || cmd === 'pubrec' || cmd === 'pubcomp') this.#noteAnswer(packet);
    });
  }

  get isWritable(): boolean {
    return this.#options.client.stream.writableLength < MAX_UNSENT_BYTES;
  }

  /** Messages at QoS 1 and 2 that the upstream has not answered, the oldest first. */
  get unanswered(): readonly Unanswered[] {
    return [...this.#unanswered.values()];
  }

  get unansweredCount(): number {
    return this.#unanswered.size;
  }

  /** Returns the unanswered messages, and ignores later answers to them. */
  forgetUnanswered(): readonly Unanswered[] {
    const { unanswered } = this;
    this.#unanswered.clear();
    return unanswered;
  }

  /**
   * Sends a message as this packet.
   *
   * @param properties encoded (`joinFields`); undefined before MQTT 5
   */
  publish(
    publish: OutgoingPublish,
    packet: Omit<EncodedPublish, 'messageId'>,
    properties: Buffer | undefined,
  ): void {
    const messageId = packet.qos === 0 ? 0 : this.#unusedIdentifier(publish.messageId);
    const bytes = encodePublish({ ...packet, messageId }, properties);
    if (packet.qos > 0) {
      const sentAtMs = performance.now();
      if (this.#unanswered.size === 0) this.#lastAnswerAtMs = sentAtMs;
      this.#unanswered.set(messageId, { publish, sentAtMs });
      this.#write(bytes);
    } else {
      this.#write(bytes, (error) => error ?? this.#options.onAnswer(publish, 0));
    }
  }

  /** Hands over the answers that have arrived; otherwise this happens at the end of the turn. */
  takeAnswers(): void {
    const answers = this.#answers;
    this.#answers = [];
    for (const answer of answers) this.#take(answer);
  }

  /** Stops watching for silence. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #checkSilence(): void {
    const [oldest] = this.#unanswered.values();
    if (oldest === undefined) return;
    const { ackTimeoutMs, onSilence } = this.#options;
    const nowMs = performance.now();
    const isStuck = nowMs - oldest.sentAtMs > ackTimeoutMs * LONGEST_WAIT_TIMEOUTS;
    if (isStuck || nowMs - this.#lastAnswerAtMs > ackTimeoutMs) onSilence();
  }

  #noteAnswer(packet: Packet): void {
    if (this.#answers.length === 0) setImmediate(() => this.takeAnswers());
    this.#answers.push(packet);
  }

  #take(answer: Packet): void {
    const { messageId = 0 } = answer;
    const reasonCode = 'reasonCode' in answer ? (answer.reasonCode ?? 0) : 0;
    const unanswered = this.#unanswered.get(messageId);
    if (unanswered === undefined) return;
    if (answer.cmd === 'pubrec' && !isFailure(reasonCode)) {
      this.#write(encodeAcknowledgement('pubrel', messageId));
    } else {
      this.#unanswered.delete(messageId);
      this.#lastAnswerAtMs = performance.now();
      this.#options.onAnswer(unanswered.publish, reasonCode);
    }
  }

  /**
   * The message's own packet identifier, which it keeps when it is sent again [MQTT-4.4.0-1], unless
   * mqtt.js has given that to the SUBSCRIBE [MQTT-2.3.1-2].
   */
  #unusedIdentifier(messageId: number): number {
    let unused = messageId;
    while (unused === this.#options.client.getLastMessageId() || this.#unanswered.has(unused)) {
      unused = (unused % MAX_IDENTIFIER) + 1;
    }
    return unused;
  }

  /** Writes a packet; all packets of one turn of the event loop leave together. */
  #write(bytes: Buffer, onSent?: (error?: Error | null) => void): void {
    const { stream } = this.#options.client;
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
}
