/** Reads packets of clients (MQTT 3.1.1, 3). */

import {
  type IPubackPacket,
  type IPublishPacket,
  type ISubscribePacket,
  type IUnsubscribePacket,
  type Packet,
  type Parser,
  parser,
} from 'mqtt-packet';
import { isFilter } from '../../domain/topics.js';

const CONNECT = 1;
const TYPE_SHIFT = 4;
const PUBLISH = 0x30;
const PUBACK = 0x40;
const TYPE_BITS = 0xf0;
const DUP = 0x08;
const QOS_BITS = 0x06;
const RETAIN = 0x01;
/** By its bits; there is no fourth. */
const QOS = [0, 1, 2] as const;
const IDENTIFIER_BYTES = 2;
const MAX_FILTERS_PER_PACKET = 1_000;

/** No client of ours uses longer topics; MQTT allows 65,535 bytes. */
const MAX_TOPIC_BYTES = 1024;

/** A packet breaks a rule of MQTT, which ends its connection. */
export class PacketError extends Error {}

const NOTHING = Buffer.alloc(0);
/** MQTT 3.1.1, 2.2.3. */
const MAX_LENGTH_DIGITS = 4;
const LENGTH_BITS = 7;
const LENGTH_CONTINUES = 0x80;

/**
 * The length of a packet with its fixed header; undefined while that is not whole.
 *
 * @param maxBytes without the fixed header
 * @throws PacketError for a longer packet, and for a malformed length
 */
export function packetBytes(bytes: Buffer, at: number, maxBytes: number): number | undefined {
  let length = 0;
  for (let digits = 0; digits < MAX_LENGTH_DIGITS; digits++) {
    const digit = bytes[at + 1 + digits];
    if (digit === undefined) return undefined;
    length += (digit & (LENGTH_CONTINUES - 1)) << (LENGTH_BITS * digits);
    if (digit >= LENGTH_CONTINUES) continue;
    if (length > maxBytes) throw new PacketError('packet too large');
    return 2 + digits + length;
  }
  throw new PacketError('a length of too many bytes');
}

/** Divides the bytes of a connection into packets. The length of one is checked before memory is taken for it. */
export class Frames {
  readonly #maxPacketBytes: number;
  #bytes: Buffer = NOTHING;
  #at = 0;
  /** The parts of a packet that is not whole. */
  #parts: Buffer[] = [];
  #missingBytes = 0;
  #hasMore = false;

  /** @param maxPacketBytes without the fixed header */
  constructor(maxPacketBytes: number) {
    this.#maxPacketBytes = maxPacketBytes;
  }

  /** Whether `next` may find a packet. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  add(bytes: Buffer): void {
    this.#hasMore = true;
    this.#parts.push(bytes);
    this.#missingBytes -= bytes.length;
    if (this.#missingBytes > 0) return;
    this.#bytes = this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts);
    this.#at = 0;
    this.#parts = [];
    this.#missingBytes = 0;
  }

  /**
   * Takes the next whole packet; undefined until more bytes are added.
   *
   * @throws PacketError for one that is too long, or whose length is malformed
   */
  next(): Buffer | undefined {
    const start = this.#at;
    const length = packetBytes(this.#bytes, start, this.#maxPacketBytes);
    const end = start + (length ?? Number.POSITIVE_INFINITY);
    if (end <= this.#bytes.length) {
      this.#at = end;
      this.#hasMore = end < this.#bytes.length;
      return this.#bytes.subarray(start, end);
    }
    this.#hasMore = false;
    if (start === this.#bytes.length) return undefined;
    const rest = this.#bytes.subarray(start);
    this.#parts = [rest];
    this.#missingBytes = length === undefined ? 1 : length - rest.length;
    this.#bytes = NOTHING;
    this.#at = 0;
    return undefined;
  }
}

/**
 * Parses whole packets with mqtt-packet: one parser for the packets of all connections.
 *
 * It is replaced after every packet in which it does not find exactly one: it would wait for more bytes, and take them
 * from the packets of others.
 */
export class PacketDecoder {
  #parser: Parser | undefined;
  #found: (Packet | Error)[] = [];

  /** @throws PacketError in the words of mqtt-packet */
  decode(bytes: Buffer): Packet {
    // It would set the protocol version of everybody [MQTT-3.1.0-2].
    if ((bytes[0] ?? 0) >> TYPE_SHIFT === CONNECT) throw new PacketError('a second CONNECT');
    return fastPacket(bytes) ?? this.parse(bytes);
  }

  /** The same for any packet. */
  parse(bytes: Buffer): Packet {
    this.#parser ??= this.#newParser();
    const leftBytes = this.#parser.parse(bytes);
    const [found, ...others] = this.#found;
    this.#found = [];
    if (
      found !== undefined &&
      !(found instanceof Error) &&
      others.length === 0 &&
      leftBytes === 0
    ) {
      return found;
    }
    this.#parser = undefined;
    throw new PacketError(found instanceof Error ? found.message : 'Cannot parse packet');
  }

  #newParser(): Parser {
    const found = (one: Packet | Error) => this.#found.push(one);
    return parser({ protocolVersion: 4 }).on('packet', found).on('error', found);
  }
}

/** Parses a PUBLISH or PUBACK in a fraction of the time; undefined for every other packet, and for a malformed one. */
export function fastPacket(bytes: Buffer): IPublishPacket | IPubackPacket | undefined {
  const header = bytes[0] ?? 0;
  const isPublish = (header & TYPE_BITS) === PUBLISH;
  if (!isPublish && header !== PUBACK) return undefined;
  const start = startOf(bytes);
  const length = bytes.length - start;
  if (isPublish) return fastPublish(bytes, header, start);
  if (length !== IDENTIFIER_BYTES) return undefined;
  return { cmd: 'puback', messageId: bytes.readUInt16BE(start), length };
}

/** Where the fixed header ends. */
export function startOf(bytes: Buffer): number {
  let at = 1;
  while ((bytes[at] ?? 0) >= LENGTH_CONTINUES) at++;
  return at + 1;
}

function fastPublish(bytes: Buffer, header: number, start: number): IPublishPacket | undefined {
  const qos = QOS[(header & QOS_BITS) >> 1];
  const topicStart = start + 2;
  if (qos === undefined || topicStart > bytes.length) return undefined;
  const topicEnd = topicStart + bytes.readUInt16BE(start);
  const payloadStart = qos === 0 ? topicEnd : topicEnd + IDENTIFIER_BYTES;
  if (payloadStart > bytes.length) return undefined;
  return {
    cmd: 'publish',
    qos,
    dup: (header & DUP) !== 0,
    retain: (header & RETAIN) !== 0,
    topic: bytes.toString('utf8', topicStart, topicEnd),
    messageId: qos === 0 ? 0 : bytes.readUInt16BE(topicEnd),
    payload: bytes.subarray(payloadStart),
    length: bytes.length - start,
  };
}

/**
 * Finds a rule of MQTT that a packet breaks and the parser does not check; undefined: none.
 *
 * @param packet any but a CONNECT (`connect-packet.ts`)
 */
export function faultOf(packet: Packet): string | undefined {
  switch (packet.cmd) {
    case 'publish':
      return publishFault(packet);
    case 'subscribe':
      return subscribeFault(packet);
    case 'unsubscribe':
      return unsubscribeFault(packet);
    case 'puback':
    case 'pubrel':
      return acknowledgementFault(packet);
    case 'pubrec':
    case 'pubcomp':
      return 'acknowledges a QoS 2 message: none is sent';
    case 'pingreq':
    case 'disconnect':
      return packet.length === 0 ? undefined : 'a packet of the wrong length';
    default:
      return 'a packet that only servers send';
  }
}

function publishFault({ topic, qos, messageId, dup }: IPublishPacket): string | undefined {
  // [MQTT-3.3.2-2], [MQTT-4.7.3-1]
  const isName = topic !== '' && !topic.includes('+') && !topic.includes('#');
  if (!isName || isUnusable(topic)) return 'unusable topic';
  // [MQTT-3.3.1-2]
  if (qos === 0) return dup ? 'DUP at QoS 0' : undefined;
  return identifierFault(messageId);
}

/** [MQTT-2.3.1-6]: two bytes, and not 0. */
function acknowledgementFault({ length, messageId }: Packet): string | undefined {
  return length === IDENTIFIER_BYTES ? identifierFault(messageId) : 'a packet of the wrong length';
}

function subscribeFault({ subscriptions, messageId }: ISubscribePacket): string | undefined {
  const isUnusableFilter = ({ topic, qos }: ISubscribePacket['subscriptions'][number]) =>
    isUnusable(topic) || !isFilter(topic) || qos > 2;
  return (
    identifierFault(messageId) ??
    countFault(subscriptions.length) ??
    (subscriptions.some(isUnusableFilter) ? 'unusable filter' : undefined)
  );
}

function unsubscribeFault({ unsubscriptions, messageId }: IUnsubscribePacket): string | undefined {
  return (
    identifierFault(messageId) ??
    countFault(unsubscriptions.length) ??
    (unsubscriptions.some((filter) => isUnusable(filter) || !isFilter(filter))
      ? 'unusable filter'
      : undefined)
  );
}

/** [MQTT-2.3.1-1]; the parser gives -1 where there is none. */
function identifierFault(messageId: number | undefined): string | undefined {
  return (messageId ?? 0) < 1 ? 'no packet identifier' : undefined;
}

/** [MQTT-3.8.3-3], [MQTT-3.10.3-2]; too many: DEPENDENCY-FAULTS 6. */
function countFault(filters: number): string | undefined {
  if (filters === 0) return 'no filters';
  return filters > MAX_FILTERS_PER_PACKET ? 'too many filters' : undefined;
}

export function isUnusable(topic: string): boolean {
  return Buffer.byteLength(topic) > MAX_TOPIC_BYTES || isIllFormed(topic);
}

/**
 * Whether a text holds U+0000 [MQTT-1.5.3-2] or was not UTF-8 [MQTT-1.5.3-1].
 *
 * The parser replaces every ill-formed byte by U+FFFD. A U+FFFD that the client meant cannot be
 * told from that, and fails too: no honest name contains it.
 */
export function isIllFormed(text: string): boolean {
  return text.includes('\u0000') || text.includes('\ufffd');
}
