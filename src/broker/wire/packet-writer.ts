import type { OutgoingPublish, Receiver } from '../../delivery/message.js';
import type { Refusal } from '../../mqtt/codes.js';
import {
  type AcknowledgementType,
  encodeAcknowledgement,
  encodePublish,
  encodeRefusal,
  encodeSuback,
  encodeUnsuback,
} from '../../mqtt/encode.js';
import { encodeFields, joinFields } from '../../mqtt/properties.js';
import type { ClientTerms } from './client-terms.js';
import type { NetworkConnection } from './network-connection.js';
import { SentAliases } from './topic-aliases.js';

/** How long a client may leave a piece of its messages unread before it is reported. */
const NAMED_AFTER_MS = 3_000;
/** How long after that it is disconnected; nothing is lost. */
const CLOSED_AFTER_MS = 2_000;
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

/** Callbacks from a writer to its connection. */
export interface WriterOwner {
  /** Called when the connection takes messages again. */
  readonly onWritable: () => void;
  /** Called when the client has read nothing for some seconds, although data was waiting. */
  readonly onUnread: () => void;
  /** Ends the connection of a client that still reads nothing. */
  readonly end: () => void;
}

/** Topics replaced by a number; a subscriber of a home gets about a hundred. */
const MAX_SENT_ALIASES = 1_000;

/**
 * Writes packets to a client's connection, in its version of MQTT.
 *
 * Nothing goes through Aedes: it drops messages that overtake others (dependency-faults.md, 2), lets one frozen client
 * stall the others (8), and would write into the middle of a packet.
 */
export class PacketWriter implements Receiver {
  readonly #connection: Pick<NetworkConnection, 'stream' | 'isClosed'>;
  readonly #terms: ClientTerms;
  readonly #owner: WriterOwner;
  readonly #aliases: SentAliases;
  /** Packets; one longer than a piece is in several parts. */
  #waiting: Buffer[] = [];
  /** Bytes that the network has not taken: those that wait, and the piece handed over. */
  #unsentBytes = 0;
  #isWriting = false;
  #wasFull = false;
  #unreadTimer: NodeJS.Timeout | undefined;

  constructor(
    connection: Pick<NetworkConnection, 'stream' | 'isClosed'>,
    terms: ClientTerms,
    owner: WriterOwner,
  ) {
    this.#connection = connection;
    this.#terms = terms;
    this.#owner = owner;
    this.#aliases = new SentAliases(Math.min(terms.topicAliasMaximum, MAX_SENT_ALIASES));
  }

  get takesProperties(): boolean {
    return this.#terms.version === 5;
  }

  get maxInFlight(): number {
    return this.#terms.receiveMaximum;
  }

  get isWritable(): boolean {
    return !this.#connection.isClosed && this.#unsentBytes < MAX_UNSENT_BYTES;
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
    const { stream, isClosed } = this.#connection;
    if (isClosed || stream.destroyed) return;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      this.#waiting.push(bytes.subarray(at, at + PIECE_BYTES));
    }
    this.#unsentBytes += bytes.length;
    if (this.#unsentBytes >= MAX_UNSENT_BYTES) this.#wasFull = true;
    if (this.#isWriting) return;
    this.#isWriting = true;
    process.nextTick(() => this.#handOver());
  }

  /** Notes that the client has read: its acknowledgement shows it, the system does not. */
  noteRead(): void {
    this.#unreadTimer?.refresh();
  }

  /** Removes and returns the bytes that wait to be sent. */
  takeUnsent(): Buffer[] {
    return this.#waiting.splice(0);
  }

  /** Drops what waits: the connection is gone. */
  close(): void {
    this.#waiting = [];
    clearTimeout(this.#unreadTimer);
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
    const known = this.#aliases.of(topic);
    const topicAlias = known ?? this.#aliases.unused;
    if (topicAlias === undefined) return encodePublish(publish, joinFields(others));
    const properties = joinFields([...others, encodeFields({ topicAlias })]);
    const bytes = encodePublish(
      known === undefined ? publish : { ...publish, topic: '' },
      properties,
    );
    if (known !== undefined) return bytes;
    // With the alias the packet may be too large; the client would then not learn the alias.
    if (bytes.length > this.#terms.maxPacketBytes)
      return encodePublish(publish, joinFields(others));
    this.#aliases.add(topic);
    return bytes;
  }

  /** Hands the network the next piece. */
  #handOver(): void {
    const { stream } = this.#connection;
    const piece = this.#takePiece();
    this.#isWriting = piece.length > 0 && stream.writable;
    if (!this.#isWriting) return;
    // One write for all: a write costs several times as much as copying a packet.
    const [first, ...others] = piece;
    const bytes = first !== undefined && others.length === 0 ? first : Buffer.concat(piece);
    stream.write(bytes, () => this.#taken(bytes.length));
    if (stream.writableLength > 0) this.#awaitTaken();
  }

  #takePiece(): Buffer[] {
    let bytes = 0;
    const tooMany = this.#waiting.findIndex((packet) => {
      bytes += packet.length;
      return bytes > PIECE_BYTES;
    });
    return this.#waiting.splice(0, tooMany < 0 ? this.#waiting.length : tooMany);
  }

  #taken(bytes: number): void {
    clearTimeout(this.#unreadTimer);
    this.#unsentBytes -= bytes;
    this.#handOver();
    if (!this.#wasFull || this.#connection.isClosed || this.#unsentBytes > LOW_WATER_BYTES) return;
    this.#wasFull = false;
    this.#owner.onWritable();
  }

  /** Ends the connection of a client that does not read. */
  #awaitTaken(): void {
    this.#unreadTimer = setTimeout(() => {
      this.#owner.onUnread();
      this.#unreadTimer = setTimeout(() => this.#owner.end(), CLOSED_AFTER_MS);
    }, NAMED_AFTER_MS);
  }
}
