/** Encodes the packets of the message path, for clients and upstreams (MQTT 3.1.1 and 5, 3.3 to 3.11). */

const PUBLISH = 0x30;
const DUP = 0x08;
const RETAIN = 0x01;
const SUBACK = 0x90;
const ANSWERS = {
  puback: 0x40,
  pubrec: 0x50,
  pubrel: 0x62,
  pubcomp: 0x70,
  unsuback: 0xb0,
} as const;
const TOPIC_LENGTH_BYTES = 2;
export const IDENTIFIER_BYTES = 2;
const NO_PROPERTIES_BYTES = 1;
/** Of each byte of the remaining length (2.2.3). */
export const LENGTH_BITS = 7;
export const LENGTH_CONTINUES = 0x80;

/** A PUBLISH, of MQTT 5 without properties. */
export interface Publish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
  readonly messageId: number;
  /** 3.1.1 unless given. */
  readonly protocol?: 4 | 5;
}

/** Packets that hold nothing but a packet identifier. */
export type AnswerType = keyof typeof ANSWERS;

/** The length of a PUBLISH on the wire with MQTT 5. */
export function publishBytes(topic: string, payload: Uint8Array, qos: 0 | 1 | 2): number {
  const length = lengthOfPublish(Buffer.byteLength(topic), payload.length, qos, 5);
  return 1 + bytesOfLength(length) + length;
}

/** Encodes a PUBLISH in one buffer: mqtt-packet writes each part to the stream by itself. */
export function encodePublish(publish: Publish): Buffer {
  const { topic, payload, qos, dup, retain, messageId, protocol = 4 } = publish;
  const topicBytes = Buffer.byteLength(topic);
  const length = lengthOfPublish(topicBytes, payload.length, qos, protocol);
  const packet = Buffer.allocUnsafe(1 + bytesOfLength(length) + length);
  packet[0] = PUBLISH | (dup ? DUP : 0) | (qos << 1) | (retain ? RETAIN : 0);
  let at = writeLength(packet, length);
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (qos > 0) at = packet.writeUInt16BE(messageId, at);
  if (protocol === 5) at = packet.writeUInt8(0, at);
  payload.copy(packet, at);
  return packet;
}

export function encodeAnswer(type: AnswerType, identifier: number): Buffer {
  const packet = Buffer.allocUnsafe(2 + IDENTIFIER_BYTES);
  packet[0] = ANSWERS[type];
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

function lengthOfPublish(
  topicBytes: number,
  payloadBytes: number,
  qos: 0 | 1 | 2,
  protocol: 4 | 5,
) {
  const identifierBytes = qos === 0 ? 0 : IDENTIFIER_BYTES;
  const propertyBytes = protocol === 5 ? NO_PROPERTIES_BYTES : 0;
  return TOPIC_LENGTH_BYTES + topicBytes + identifierBytes + propertyBytes + payloadBytes;
}

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
