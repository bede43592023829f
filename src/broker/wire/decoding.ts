/** Reads packets of clients (MQTT 3.1.1, 3). */

import {
  type IConnectPacket,
  type IPubackPacket,
  type IPublishPacket,
  type Packet,
  parser,
} from 'mqtt-packet';
import { ConnectError } from '../admission/connect-errors.js';
import { PacketError } from './frames.js';

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
const LENGTH_CONTINUES = 0x80;
const LENGTH_BYTES = 2;
/** The protocol names of the levels of MQTT 3.1 and 3.1.1. */
export const NAMES_OF_LEVELS: ReadonlyMap<number, string> = new Map([
  [3, 'MQIsdp'],
  [4, 'MQTT'],
]);
/** Of the protocol level: a Mosquitto that is a bridge says so. */
const BRIDGE_BIT = 0x80;

/** Parses whole packets with mqtt-packet: one parser for the packets of all connections, as none is left half parsed. */
export class PacketDecoder {
  readonly #parser = parser({ protocolVersion: 4 });
  #found: Packet | Error | undefined;

  constructor() {
    this.#parser.on('packet', (packet) => {
      this.#found = packet;
    });
    this.#parser.on('error', (error: Error) => {
      this.#found = error;
    });
  }

  /** @throws PacketError in the words of mqtt-packet */
  decode(bytes: Buffer): Packet {
    // It would set the protocol version of everybody [MQTT-3.1.0-2].
    if ((bytes[0] ?? 0) >> TYPE_SHIFT === CONNECT) throw new PacketError('a second CONNECT');
    return fastPacket(bytes) ?? this.parse(bytes);
  }

  /** The same for any packet. */
  parse(bytes: Buffer): Packet {
    this.#parser.parse(bytes);
    const found = this.#found;
    this.#found = undefined;
    if (found === undefined) throw new PacketError('Cannot parse packet');
    if (found instanceof Error) throw new PacketError(found.message);
    return found;
  }
}

/**
 * Parses a CONNECT, with a decoder of its own: mqtt-packet keeps it, with its password.
 *
 * @throws ConnectError for one of another protocol level that cannot be parsed
 * @throws PacketError
 */
export function decodeConnect(bytes: Buffer): IConnectPacket {
  try {
    const packet = new PacketDecoder().parse(bytes);
    if (packet.cmd === 'connect') return packet;
  } catch (error) {
    requireLevel(bytes);
    throw error;
  }
  throw new PacketError(NO_CONNECT);
}

/** [MQTT-3.1.0-1] */
export const NO_CONNECT = 'a first packet other than CONNECT';

/**
 * Checks the protocol level of a CONNECT before anything else in it [MQTT-3.1.2-2].
 *
 * @throws ConnectError for one that is not spoken here
 */
export function requireLevel(connect: Buffer): void {
  const start = startOf(connect) + LENGTH_BYTES;
  const names = Array.from(NAMES_OF_LEVELS.values(), (name) => Buffer.from(name));
  const name = names.find((one) => one.equals(connect.subarray(start, start + one.length)));
  const level = name && connect[start + name.length];
  if (level === undefined || NAMES_OF_LEVELS.has(level & ~BRIDGE_BIT)) return;
  throw new ConnectError('unknown-version', { reason: 'unacceptable protocol version' });
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
