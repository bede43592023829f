/**
 * Writes packets to a client, in its version of MQTT: the messages of its consumer, and answers.
 *
 * Nothing goes through Aedes: it drops messages that overtake others (dependency-faults.md, 2), lets one frozen client
 * stall the others (8), and would write into the middle of a packet.
 */
import type { OutgoingPublish, Receiver } from '../delivery/message.js';
import type { Refusal } from '../mqtt/codes.js';
import {
  type AcknowledgementType,
  encodeAcknowledgement,
  encodePublish,
  encodeRefusal,
  encodeSuback,
  encodeUnsuback,
} from '../mqtt/encode.js';
import { encodeFields, joinFields } from '../mqtt/properties.js';
import type { ClientTerms } from './connect.js';
import type { Transport } from './transport.js';

/** How long a client may leave a piece of its messages unread before it is reported. */
const NAMED_AFTER_MS = 3_000;
/** How long before it is disconnected; nothing is lost. */
const CLOSED_AFTER_MS = 5_000;
/** Bytes that may wait for the network. A client that falls further behind misses QoS 0 messages. */
const MAX_UNSENT_BYTES = 256 * 1024;
/** A client that was not writable becomes writable again when only this many bytes wait. */
const LOW_WATER_BYTES = MAX_UNSENT_BYTES / 2;
/**
 * Bytes handed to the network in one write.
 *
 * Progress shows only once the network takes a whole piece. Even a client on a very slow link takes one in time.
 */
const PIECE_BYTES = 16 * 1024;
/** Topics replaced by a number; a subscriber of a home gets about a hundred. */
const MAX_SENT_ALIASES = 1_000;

export class PacketWriter implements Receiver {
  readonly #transport: Transport;
  readonly #terms: ClientTerms;
  readonly #onWritable: () => void;
  /** The numbers that the client knows for topics. */
  readonly #aliases = new Map<string, number>();
  readonly #maxAliases: number;
  /** Whole packets. */
  #waiting: Buffer[] = [];
  /** How much of the first is handed over. */
  #at = 0;
  /** Bytes that the network has not taken: those that wait, and the piece handed over. */
  #unsentBytes = 0;
  #isWriting = false;
  #isClosed = false;
  #wasFull = false;
  /** When the piece was handed over that the network has not taken, or the client last showed that it reads. */
  #untakenSinceMs: number | undefined;

  /** @param onWritable called when messages are taken again after too many waited */
  constructor(transport: Transport, terms: ClientTerms, onWritable: () => void) {
    this.#transport = transport;
    this.#terms = terms;
    this.#onWritable = onWritable;
    this.#maxAliases = Math.min(terms.topicAliasMaximum, MAX_SENT_ALIASES);
  }

  get takesProperties(): boolean {
    return this.#terms.version === 5;
  }

  get maxInFlight(): number {
    return this.#terms.receiveMaximum;
  }

  get isWritable(): boolean {
    return !this.#isClosed && this.#unsentBytes < MAX_UNSENT_BYTES;
  }

  send(publish: OutgoingPublish): boolean {
    const { version, maxPacketBytes } = this.#terms;
    const bytes = version === 5 ? this.#encodeWithProperties(publish) : encodePublish(publish);
    if (bytes.length > maxPacketBytes) return false;
    this.write(bytes);
    return true;
  }

  /** Acknowledges a packet. Only MQTT 5 carries a refusal. */
  acknowledge(type: AcknowledgementType, identifier: number, refusal?: Refusal): void {
    if (refusal === undefined || this.#terms.version !== 5) {
      this.write(encodeAcknowledgement(type, identifier));
      return;
    }
    const { reasonCode, reason } = refusal;
    this.#writeTelling(reason, (told) => encodeRefusal(type, identifier, reasonCode, told));
  }

  /**
   * @param codes of the client's version, for each filter
   * @param reason why some are not granted
   */
  suback(identifier: number, codes: readonly number[], reason?: string): void {
    const { version } = this.#terms;
    this.#writeTelling(reason, (told) => encodeSuback(version, identifier, codes, told));
  }

  /**
   * @param codes of MQTT 5, for each filter
   * @param reason why some were not removed
   */
  unsuback(identifier: number, codes: readonly number[], reason?: string): void {
    const { version } = this.#terms;
    this.#writeTelling(reason, (told) => encodeUnsuback(version, identifier, codes, told));
  }

  /** Writes a packet; the packets of one turn of the event loop leave together. */
  write(bytes: Buffer): void {
    if (this.#isClosed) return;
    this.#waiting.push(bytes);
    this.#unsentBytes += bytes.length;
    if (this.#unsentBytes >= MAX_UNSENT_BYTES) this.#wasFull = true;
    if (this.#isWriting) return;
    this.#isWriting = true;
    process.nextTick(() => this.#handOver());
  }

  /** Notes that the client has read: its acknowledgement shows it, the system does not. */
  noteRead(): void {
    if (this.#untakenSinceMs !== undefined) this.#untakenSinceMs = performance.now();
  }

  /** How a client that does not read is to be treated. */
  unreadAt(nowMs: number): 'read' | 'named' | 'closed' {
    const unreadMs = nowMs - (this.#untakenSinceMs ?? nowMs);
    if (unreadMs < NAMED_AFTER_MS) return 'read';
    return unreadMs < CLOSED_AFTER_MS ? 'named' : 'closed';
  }

  /** Writes no more. Returns what waits: the rest of a packet first. */
  close(): Buffer[] {
    this.#isClosed = true;
    const [first, ...others] = this.#waiting.splice(0);
    return first === undefined ? [] : [first.subarray(this.#at), ...others];
  }

  /** Writes a packet with a reason in words, if the client wants that and it fits [MQTT-3.1.2-29, MQTT-3.4.2-2]. */
  #writeTelling(reason: string | undefined, encode: (told?: string) => Buffer): void {
    const { version, wantsReasons, maxPacketBytes } = this.#terms;
    const isWanted = reason !== undefined && wantsReasons && version === 5;
    const told = encode(isWanted ? reason : undefined);
    this.write(told.length <= maxPacketBytes ? told : encode());
  }

  #encodeWithProperties(publish: OutgoingPublish): Buffer {
    const { topic, fields, expirySeconds, subscriptionIdentifiers } = publish;
    const added = encodeFields({ messageExpirySeconds: expirySeconds, subscriptionIdentifiers });
    const others = fields === undefined ? [added] : [fields, added];
    const known = this.#aliases.get(topic);
    const hasRoom = this.#aliases.size < this.#maxAliases;
    const topicAlias = known ?? (hasRoom ? this.#aliases.size + 1 : undefined);
    if (topicAlias === undefined) return encodePublish(publish, joinFields(others));
    const properties = joinFields([...others, encodeFields({ topicAlias })]);
    if (known !== undefined) return encodePublish({ ...publish, topic: '' }, properties);
    const bytes = encodePublish(publish, properties);
    // With the alias the packet may be too large; the client would then not learn the alias.
    if (bytes.length > this.#terms.maxPacketBytes)
      return encodePublish(publish, joinFields(others));
    this.#aliases.set(topic, topicAlias);
    return bytes;
  }

  /** Hands the network the next piece. */
  #handOver(): void {
    const first = this.#waiting[0];
    this.#isWriting = first !== undefined;
    if (first === undefined) return;
    const isPart = first.length - this.#at > PIECE_BYTES;
    const parts = isPart ? [first.subarray(this.#at, this.#at + PIECE_BYTES)] : this.#takeWhole();
    if (isPart) this.#at += PIECE_BYTES;
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    this.#untakenSinceMs = performance.now();
    this.#transport.write(parts, !isPart, () => this.#taken(bytes));
  }

  /** Takes out the rest of the first packet, and packets that fit into the same piece. */
  #takeWhole(): Buffer[] {
    let bytes = -this.#at;
    const tooMany = this.#waiting.findIndex((packet) => {
      bytes += packet.length;
      return bytes > PIECE_BYTES;
    });
    const whole = this.#waiting.splice(0, tooMany < 0 ? this.#waiting.length : tooMany);
    const first = whole[0];
    if (this.#at > 0 && first !== undefined) whole[0] = first.subarray(this.#at);
    this.#at = 0;
    return whole;
  }

  #taken(bytes: number): void {
    this.#untakenSinceMs = undefined;
    this.#unsentBytes -= bytes;
    this.#handOver();
    if (!this.#wasFull || this.#isClosed || this.#unsentBytes > LOW_WATER_BYTES) return;
    this.#wasFull = false;
    this.#onWritable();
  }
}
