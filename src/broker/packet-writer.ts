import type { Client } from 'aedes';
import type { OutgoingPublish, Receiver } from '../delivery/receiver.js';

/** How long a client may leave its messages unread before it is disconnected; nothing is lost. */
const DRAIN_TIMEOUT_MS = 5_000;
/**
 * Bytes that may wait for the network.
 *
 * Several times what is sent in one turn of the event loop, all of which waits for the end of the
 * turn. Beyond that a client that does not keep up misses QoS 0.
 */
const MAX_UNSENT_BYTES = 256 * 1024;

/**
 * Writes packets to a client's connection.
 *
 * Messages do not go through Aedes, which drops messages that overtake others (DEPENDENCY-FAULTS 1)
 * and lets one frozen client stall the others (10).
 */
export class PacketWriter implements Receiver {
  readonly #client: Client;
  readonly #onWritable: () => void;
  #drainTimer: NodeJS.Timeout | undefined;
  #isCorked = false;

  /** @param onWritable called when the connection takes messages again */
  constructor(client: Client, onWritable: () => void) {
    this.#client = client;
    this.#onWritable = onWritable;
  }

  get isWritable(): boolean {
    const { conn, closed } = this.#client;
    return !closed && conn.writableLength < MAX_UNSENT_BYTES;
  }

  send(publish: OutgoingPublish): void {
    this.write(encodePublish(publish));
  }

  /** Writes a packet; all packets of one turn of the event loop leave together. */
  write(bytes: Buffer): void {
    const { conn, closed } = this.#client;
    if (closed || conn.destroyed) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      conn.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        conn.uncork();
      });
    }
    conn.write(bytes);
    if (conn.writableNeedDrain && this.#drainTimer === undefined) this.#awaitDrain();
  }

  /** Stops the drain timeout of a connection that is gone. */
  close(): void {
    clearTimeout(this.#drainTimer);
  }

  #awaitDrain(): void {
    const { conn } = this.#client;
    this.#drainTimer = setTimeout(() => conn.destroy(), DRAIN_TIMEOUT_MS);
    conn.once('drain', () => {
      clearTimeout(this.#drainTimer);
      this.#drainTimer = undefined;
      if (!this.#client.closed) this.#onWritable();
    });
  }
}

/** Encodes the packets of the message path (MQTT 3.1.1, 3.3, 3.4, 3.5, 3.7, 3.9, 3.11). */

const PUBLISH = 0x30;
const DUP = 0x08;
const RETAIN = 0x01;
const SUBACK = 0x90;
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
