import type { Client } from 'aedes';
import type { IPubackPacket, IPublishPacket } from 'mqtt-packet';
import type { OutgoingPublish, Receiver } from '../delivery/receiver.js';
import {
  encodePublish,
  IDENTIFIER_BYTES,
  LENGTH_BITS,
  LENGTH_CONTINUES,
} from '../domain/packets.js';

/** How long a client may leave its messages unread before it is named. */
const NAMED_AFTER_MS = 3_000;
/** How long until it is disconnected after that; nothing is lost. */
const CLOSED_AFTER_MS = 2_000;
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
  readonly #onUnread: () => void;
  #drainTimer: NodeJS.Timeout | undefined;
  #isCorked = false;

  /**
   * @param onWritable called when the connection takes messages again
   * @param onUnread called when the client has read nothing for some seconds, though there was something to read
   */
  constructor(client: Client, onWritable: () => void, onUnread: () => void) {
    this.#client = client;
    this.#onWritable = onWritable;
    this.#onUnread = onUnread;
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
    this.#drainTimer = setTimeout(() => {
      this.#onUnread();
      this.#drainTimer = setTimeout(() => conn.destroy(), CLOSED_AFTER_MS);
    }, NAMED_AFTER_MS);
    conn.once('drain', () => {
      clearTimeout(this.#drainTimer);
      this.#drainTimer = undefined;
      if (!this.#client.closed) this.#onWritable();
    });
  }
}

const PUBLISH = 0x30;
const PUBACK = 0x40;
const TYPE_BITS = 0xf0;
const DUP = 0x08;
const QOS_BITS = 0x06;
const RETAIN = 0x01;
/** By its bits; there is no fourth. */
const QOS = [0, 1, 2] as const;

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
  if (!isPublish && header !== PUBACK) return undefined;
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
