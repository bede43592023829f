import type { ProtocolVersion } from './client-options.js';

const PUBLISH = 0x30;
const DUP = 0x08;
const RETAIN = 0x01;
const PUBREL = 0x62;
const LENGTH_BYTES = 2;
const PACKET_IDENTIFIER_BYTES = 2;
const NO_PROPERTIES_BYTES = 1;
const BITS_OF_A_LENGTH_BYTE = 7;
const LENGTH_CONTINUES = 0x80;

/** A PUBLISH as it goes upstream. */
export interface UpstreamPublish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
  readonly messageId: number;
  readonly protocol: ProtocolVersion;
}

/** The length of a PUBLISH on the wire with MQTT 5 (3.3), without properties. */
export function packetBytes(topic: string, payload: Buffer, qos: 0 | 1 | 2): number {
  const remaining = remainingBytes(Buffer.byteLength(topic), payload, qos, 5);
  return 1 + bytesOfLength(remaining) + remaining;
}

/**
 * Encodes a PUBLISH without properties (MQTT 3.1.1 and 5, 3.3), in one buffer.
 *
 * mqtt-packet writes each of its parts to the stream by itself.
 */
export function encodePublish(publish: UpstreamPublish): Buffer {
  const { topic, payload, qos, retain, dup, messageId, protocol } = publish;
  const topicBytes = Buffer.byteLength(topic);
  const remaining = remainingBytes(topicBytes, payload, qos, protocol);
  const packet = Buffer.allocUnsafe(1 + bytesOfLength(remaining) + remaining);
  packet[0] = PUBLISH | (dup ? DUP : 0) | (qos << 1) | (retain ? RETAIN : 0);
  let at = writeLength(packet, remaining);
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (qos > 0) at = packet.writeUInt16BE(messageId, at);
  if (protocol === 5) at = packet.writeUInt8(0, at);
  payload.copy(packet, at);
  return packet;
}

/** Encodes the PUBREL that answers a PUBREC (MQTT 3.6). */
export function encodePubrel(messageId: number): Buffer {
  const packet = Buffer.allocUnsafe(2 + PACKET_IDENTIFIER_BYTES);
  packet[0] = PUBREL;
  packet[1] = PACKET_IDENTIFIER_BYTES;
  packet.writeUInt16BE(messageId, 2);
  return packet;
}

function remainingBytes(
  topicBytes: number,
  payload: Buffer,
  qos: 0 | 1 | 2,
  protocol: ProtocolVersion,
): number {
  const identifierBytes = qos === 0 ? 0 : PACKET_IDENTIFIER_BYTES;
  const propertyBytes = protocol === 5 ? NO_PROPERTIES_BYTES : 0;
  return LENGTH_BYTES + topicBytes + identifierBytes + propertyBytes + payload.length;
}

/** MQTT 2.2.3. */
function bytesOfLength(length: number): number {
  return Math.floor(Math.log2(length) / BITS_OF_A_LENGTH_BYTE) + 1;
}

/** Writes the remaining length after the first byte. Returns where the packet goes on. */
function writeLength(packet: Buffer, length: number): number {
  let at = 1;
  for (let rest = length; ; rest >>= BITS_OF_A_LENGTH_BYTE) {
    if (rest < LENGTH_CONTINUES) return packet.writeUInt8(rest, at);
    at = packet.writeUInt8((rest % LENGTH_CONTINUES) + LENGTH_CONTINUES, at);
  }
}
