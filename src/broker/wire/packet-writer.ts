import type { Client } from 'aedes';
import type { IPubackPacket, IPublishPacket } from 'mqtt-packet';
import type { OutgoingPublish, Receiver } from '../../delivery/receiver.js';

/** How long a client may leave a piece of its messages unread before it is named. */
const NAMED_AFTER_MS = 3_000;
/** How long until it is disconnected after that; nothing is lost. */
const CLOSED_AFTER_MS = 2_000;
/** Bytes that may wait for the network; beyond that a client that does not keep up misses QoS 0. */
const MAX_UNSENT_BYTES = 256 * 1024;
/** A client that was not writable is again when so few bytes wait. */
const LOW_WATER_BYTES = MAX_UNSENT_BYTES / 2;
/**
 * Bytes that the network is handed at once.
 *
 * Progress is visible only when a whole piece has been taken. Even a client on a very slow link takes one in time.
 */
const PIECE_BYTES = 16 * 1024;

/** Callbacks from a writer to its connection. */
export interface WriterOwner {
  /** Called when the connection takes messages again. */
  readonly onWritable: () => void;
  /** Called when the client has read nothing for some seconds, though there was something to read. */
  readonly onUnread: () => void;
  /** Ends the connection of a client that still reads nothing. */
  readonly end: () => void;
}

/**
 * Writes packets to a client's connection.
 *
 * Nothing goes through Aedes once CONNACK is sent: it drops messages that overtake others (DEPENDENCY-FAULTS 1),
 * lets one frozen client stall the others (10), and would write into the middle of a packet.
 */
export class PacketWriter implements Receiver {
  readonly #client: Pick<Client, 'conn' | 'closed'>;
  readonly #owner: WriterOwner;
  /** Packets, those longer than a piece in several parts. */
  #waiting: Buffer[] = [];
  /** Bytes that the network has not taken: what waits, and the piece that it was handed. */
  #unsentBytes = 0;
  #isWriting = false;
  #wasFull = false;
  #unreadTimer: NodeJS.Timeout | undefined;

  constructor(client: Pick<Client, 'conn' | 'closed'>, owner: WriterOwner) {
    this.#client = client;
    this.#owner = owner;
  }

  get isWritable(): boolean {
    return !this.#client.closed && this.#unsentBytes < MAX_UNSENT_BYTES;
  }

  send(publish: OutgoingPublish): void {
    this.write(encodePublish(publish));
  }

  /** Writes a packet; the packets of one turn of the event loop leave together. */
  write(bytes: Buffer): void {
    const { conn, closed } = this.#client;
    if (closed || conn.destroyed) return;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      this.#waiting.push(bytes.subarray(at, at + PIECE_BYTES));
    }
    this.#unsentBytes += bytes.length;
    if (this.#unsentBytes >= MAX_UNSENT_BYTES) this.#wasFull = true;
    if (this.#isWriting) return;
    this.#isWriting = true;
    process.nextTick(() => this.#handOver());
  }

  /** Notes that the client has read: it has acknowledged a message, which the system does not show. */
  noteRead(): void {
    this.#unreadTimer?.refresh();
  }

  /** Drops what waits: the connection is gone. */
  close(): void {
    this.#waiting = [];
    clearTimeout(this.#unreadTimer);
  }

  /** Hands the network the next piece. */
  #handOver(): void {
    const { conn } = this.#client;
    const piece = this.#takePiece();
    this.#isWriting = piece.length > 0 && conn.writable;
    if (!this.#isWriting) return;
    // One write for all: each costs several times what copying a packet does.
    const [first, ...others] = piece;
    const bytes = first !== undefined && others.length === 0 ? first : Buffer.concat(piece);
    conn.write(bytes, () => this.#taken(bytes.length));
    if (conn.writableLength > 0) this.#awaitTaken();
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
    if (!this.#wasFull || this.#client.closed || this.#unsentBytes > LOW_WATER_BYTES) return;
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

/** Encodes and parses the packets of the message path (MQTT 3.1.1, 3.3, 3.4, 3.5, 3.7, 3.9, 3.11). */

const PUBLISH = 0x30;
const TYPE_BITS = 0xf0;
const DUP = 0x08;
const QOS_BITS = 0x06;
const RETAIN = 0x01;
/** By its bits; there is no fourth. */
const QOS = [0, 1, 2] as const;
const SUBACK = 0x90;
/** MQTT 3.1.1, 3.13. */
export const PINGRESP = Buffer.from([0xd0, 0]);
const ACKNOWLEDGEMENTS = { puback: 0x40, pubrec: 0x50, pubcomp: 0x70, unsuback: 0xb0 } as const;
const IDENTIFIER_BYTES = 2;
const LENGTH_BITS = 7;
const LENGTH_CONTINUES = 0x80;

export type AcknowledgementType = keyof typeof ACKNOWLEDGEMENTS;

export function encodePublish(publish: OutgoingPublish): Buffer {
  const { topic, payload, qos, dup, retain, messageId } = publish;
  const topicBytes = Buffer.byteLength(topic);
  const identifierBytes = qos === 0 ? 0 : IDENTIFIER_BYTES;
  const length = 2 + topicBytes + identifierBytes + payload.length;
  const packet = Buffer.allocUnsafe(1 + bytesOfLength(length) + length);
  packet[0] = PUBLISH | (dup ? DUP : 0) | (qos << 1) | (retain ? RETAIN : 0);
  let at = writeLength(packet, length);
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (qos > 0) at = packet.writeUInt16BE(messageId, at);
  payload.copy(packet, at);
  return packet;
}

export function encodeAcknowledgement(type: AcknowledgementType, identifier: number): Buffer {
  const packet = Buffer.allocUnsafe(4);
  packet[0] = ACKNOWLEDGEMENTS[type];
  packet[1] = IDENTIFIER_BYTES;
  packet.writeUInt16BE(identifier, 2);
  return packet;
}

/** @param granted for each filter its QoS, or 0x80 (MQTT 3.1.1, 3.9.3) */
export function encodeSuback(identifier: number, granted: readonly number[]): Buffer {
  const length = IDENTIFIER_BYTES + granted.length;
  const packet = Buffer.allocUnsafe(1 + bytesOfLength(length) + length);
  packet[0] = SUBACK;
  const at = packet.writeUInt16BE(identifier, writeLength(packet, length));
  for (const [index, code] of granted.entries()) packet[at + index] = code;
  return packet;
}

/** MQTT 3.1.1, 2.2.3. */
function bytesOfLength(length: number): number {
  let bytes = 1;
  for (let rest = length >> LENGTH_BITS; rest > 0; rest >>= LENGTH_BITS) bytes++;
  return bytes;
}

/** Writes the remaining length after the first byte. Returns where the packet goes on. */
function writeLength(packet: Buffer, length: number): number {
  let at = 1;
  let rest = length;
  do {
    const digit = rest & (LENGTH_CONTINUES - 1);
    rest >>= LENGTH_BITS;
    packet[at++] = rest > 0 ? digit | LENGTH_CONTINUES : digit;
  } while (rest > 0);
  return at;
}

/** A packet of a client, and where it ends. */
type WholePacket = (IPublishPacket | IPubackPacket) & { readonly end: number };

/**
 * Parses the PUBLISH or PUBACK that begins here.
 *
 * Undefined for every other packet, and for one that is longer or malformed: the parser of Aedes says what is
 * wrong. A remaining length of two bytes is enough for these.
 */
export function wholePacket(
  bytes: Buffer,
  at: number,
  maxBytes: number,
): WholePacket | 'incomplete' | undefined {
  const header = bytes[at] ?? 0;
  const isPublish = (header & TYPE_BITS) === PUBLISH;
  if (!isPublish && header !== ACKNOWLEDGEMENTS.puback) return undefined;
  const [low, high = 0] = [bytes[at + 1], bytes[at + 2]];
  if (low === undefined) return 'incomplete';
  const isLong = low >= LENGTH_CONTINUES;
  if (isLong && high >= LENGTH_CONTINUES) return undefined;
  const length = isLong ? low - LENGTH_CONTINUES + (high << LENGTH_BITS) : low;
  const start = at + (isLong ? 3 : 2);
  const end = start + length;
  if (length > maxBytes) return undefined;
  if (end > bytes.length) return 'incomplete';
  if (isPublish) return wholePublish(bytes, header, start, end);
  if (length !== IDENTIFIER_BYTES) return undefined;
  return { cmd: 'puback', messageId: bytes.readUInt16BE(start), length, end };
}

function wholePublish(
  bytes: Buffer,
  header: number,
  start: number,
  end: number,
): WholePacket | undefined {
  const qos = QOS[(header & QOS_BITS) >> 1];
  const topicStart = start + 2;
  if (qos === undefined || topicStart > end) return undefined;
  const topicEnd = topicStart + bytes.readUInt16BE(start);
  const payloadStart = qos === 0 ? topicEnd : topicEnd + IDENTIFIER_BYTES;
  if (payloadStart > end) return undefined;
  return {
    cmd: 'publish',
    qos,
    dup: (header & DUP) !== 0,
    retain: (header & RETAIN) !== 0,
    topic: bytes.toString('utf8', topicStart, topicEnd),
    messageId: qos === 0 ? 0 : bytes.readUInt16BE(topicEnd),
    payload: bytes.subarray(payloadStart, end),
    length: end - start,
    end,
  };
}
