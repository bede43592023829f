/** Encodes the packets that the gateway sends to clients (MQTT 3.1.1 and 5, 3). */

import { varintBytes, Writer, writeVarint } from './bytes.js';
import type { MqttVersion, QoS } from './packets.js';
import { encodeProperties, NO_PROPERTIES, type Properties } from './properties.js';

const CONNACK = 0x20;
const PUBLISH = 0x30;
const DUP = 0x08;
const RETAIN = 0x01;
const SUBACK = 0x90;
const UNSUBACK = 0xb0;
const DISCONNECT = 0xe0;
const ACKNOWLEDGEMENTS = { puback: 0x40, pubrec: 0x50, pubrel: 0x62, pubcomp: 0x70 } as const;
/** MQTT 5, 3.13. */
export const PINGRESP = Buffer.from([0xd0, 0]);

const IDENTIFIER_BYTES = 2;

export type AcknowledgementType = keyof typeof ACKNOWLEDGEMENTS;

/** A message for one subscriber. */
export interface EncodedPublish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: QoS;
  readonly dup: boolean;
  readonly retain: boolean;
  /** 0 at QoS 0. */
  readonly messageId: number;
}

/** @param returnCode of the version: MQTT 3.1.1, 3.2.2.3, or MQTT 5, 3.2.2.2; 0: accepted */
export function encodeConnack(
  version: MqttVersion,
  returnCode: number,
  isSessionPresent = false,
  properties: Properties = {},
): Buffer {
  // MQTT 3.1 does not know it, and reserves the byte (MQTT 3.1, 3.2).
  const flags = isSessionPresent && version !== 3 ? 1 : 0;
  const body = new Writer().byte(flags).byte(returnCode);
  if (version === 5) body.raw(encodeProperties(properties));
  return packetOf(CONNACK, body);
}

/** @param properties encoded (`encodeProperties`); undefined before MQTT 5 */
export function encodePublish(publish: EncodedPublish, properties?: Buffer): Buffer {
  const { topic, payload, qos, dup, retain, messageId } = publish;
  const topicBytes = Buffer.byteLength(topic);
  const length = publishLength(topicBytes, payload, qos, properties?.length ?? 0);
  const packet = Buffer.allocUnsafe(1 + varintBytes(length) + length);
  packet[0] = PUBLISH | (dup ? DUP : 0) | (qos << 1) | (retain ? RETAIN : 0);
  let at = writeVarint(packet, 1, length);
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (qos > 0) at = packet.writeUInt16BE(messageId, at);
  if (properties !== undefined) at += properties.copy(packet, at);
  payload.copy(packet, at);
  return packet;
}

/** The length of a whole PUBLISH. */
export function publishBytes(
  topic: string,
  payload: Buffer,
  qos: QoS,
  properties = NO_PROPERTIES,
): number {
  const length = publishLength(Buffer.byteLength(topic), payload, qos, properties.length);
  return 1 + varintBytes(length) + length;
}

function publishLength(
  topicBytes: number,
  payload: Buffer,
  qos: QoS,
  propertyBytes: number,
): number {
  return 2 + topicBytes + (qos === 0 ? 0 : IDENTIFIER_BYTES) + propertyBytes + payload.length;
}

/** For an accepted message; before MQTT 5, for any message. */
export function encodeAcknowledgement(type: AcknowledgementType, identifier: number): Buffer {
  const packet = Buffer.allocUnsafe(4);
  packet[0] = ACKNOWLEDGEMENTS[type];
  packet[1] = IDENTIFIER_BYTES;
  packet.writeUInt16BE(identifier, 2);
  return packet;
}

/** For a refused message, to an MQTT 5 client. */
export function encodeRefusal(
  type: AcknowledgementType,
  identifier: number,
  reasonCode: number,
  reasonString?: string,
): Buffer {
  const body = new Writer().uint16(identifier).byte(reasonCode);
  return packetOf(ACKNOWLEDGEMENTS[type], body.raw(encodeProperties({ reasonString })));
}

/** @param codes for each filter its QoS, or why it has none (MQTT 3.1.1, 3.9.3; MQTT 5, 3.9.3) */
export function encodeSuback(
  version: MqttVersion,
  identifier: number,
  codes: readonly number[],
  reasonString?: string,
): Buffer {
  const body = new Writer().uint16(identifier);
  if (version === 5) body.raw(encodeProperties({ reasonString }));
  return packetOf(SUBACK, body.raw(Buffer.from(codes)));
}

/** The length of a SUBACK or UNSUBACK of MQTT 5 for so many filters, without reasons in words. */
export function filterAnswerBytes(filterCount: number): number {
  const length = IDENTIFIER_BYTES + 1 + filterCount;
  return 1 + varintBytes(length) + length;
}

/** @param codes the result for each filter; not sent before MQTT 5 */
export function encodeUnsuback(
  version: MqttVersion,
  identifier: number,
  codes: readonly number[],
  reasonString?: string,
): Buffer {
  const body = new Writer().uint16(identifier);
  if (version !== 5) return packetOf(UNSUBACK, body);
  return packetOf(UNSUBACK, body.raw(encodeProperties({ reasonString })).raw(Buffer.from(codes)));
}

/** Tells an MQTT 5 client why its connection ends. */
export function encodeDisconnect(reasonCode: number, properties: Properties = {}): Buffer {
  return packetOf(DISCONNECT, new Writer().byte(reasonCode).raw(encodeProperties(properties)));
}

function packetOf(header: number, { bytes }: Writer): Buffer {
  return new Writer().byte(header).varint(bytes.length).raw(bytes).bytes;
}
