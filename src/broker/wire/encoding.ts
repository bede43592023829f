/** Encodes the packets of the message path (MQTT 3.1.1, 3.2, 3.3, 3.4, 3.5, 3.7, 3.9, 3.11). */

import type { OutgoingPublish } from '../../delivery/receiver.js';

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
