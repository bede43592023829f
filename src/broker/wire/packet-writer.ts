import type { OutgoingPublish, Receiver } from '../../delivery/receiver.js';
import type { NetworkConnection } from './network-connection.js';

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
 * Nothing goes through Aedes: it drops messages that overtake others (DEPENDENCY-FAULTS 1), lets one frozen client
 * stall the others (10), and would write into the middle of a packet.
 */
export class PacketWriter implements Receiver {
  readonly #connection: Pick<NetworkConnection, 'stream' | 'isClosed'>;
  readonly #owner: WriterOwner;
  /** Packets, those longer than a piece in several parts. */
  #waiting: Buffer[] = [];
  /** Bytes that the network has not taken: what waits, and the piece that it was handed. */
  #unsentBytes = 0;
  #isWriting = false;
  #wasFull = false;
  #unreadTimer: NodeJS.Timeout | undefined;

  constructor(connection: Pick<NetworkConnection, 'stream' | 'isClosed'>, owner: WriterOwner) {
    this.#connection = connection;
    this.#owner = owner;
  }

  get isWritable(): boolean {
    return !this.#connection.isClosed && this.#unsentBytes < MAX_UNSENT_BYTES;
  }

  send(publish: OutgoingPublish): void {
    this.write(encodePublish(publish));
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
    const { stream } = this.#connection;
    const piece = this.#takePiece();
    this.#isWriting = piece.length > 0 && stream.writable;
    if (!this.#isWriting) return;
    // One write for all: each costs several times what copying a packet does.
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

// Encoding of the packets of the message path (MQTT 3.1.1, 3.2, 3.3, 3.4, 3.5, 3.7, 3.9, 3.11).

const PUBLISH = 0x30;
const DUP = 0x08;
const RETAIN = 0x01;
const CONNACK = 0x20;
const SUBACK = 0x90;
/** MQTT 3.1.1, 3.13. */
export const PINGRESP = Buffer.from([0xd0, 0]);
const ACKNOWLEDGEMENTS = { puback: 0x40, pubrec: 0x50, pubcomp: 0x70, unsuback: 0xb0 } as const;
const IDENTIFIER_BYTES = 2;
const LENGTH_BITS = 7;
const LENGTH_CONTINUES = 0x80;

export type AcknowledgementType = keyof typeof ACKNOWLEDGEMENTS;

/** @param returnCode MQTT 3.1.1, 3.2.2.3; 0: accepted */
export function encodeConnack(returnCode: number, isSessionPresent = false): Buffer {
  return Buffer.from([CONNACK, 2, isSessionPresent ? 1 : 0, returnCode]);
}

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
