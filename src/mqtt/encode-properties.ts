/** Encodes properties of MQTT 5 (2.2.2). */

import type { Properties } from './properties.js';

const LENGTH_BITS = 7;
const LENGTH_CONTINUES = 0x80;
const MAX_TEXT_BYTES = 65_535;

/** An empty set of properties. */
export const NO_PROPERTIES: Buffer = Buffer.from([0]);

/** Encodes properties with their length. */
export function encodeProperties(properties: Properties): Buffer {
  const fields = encodeFields(properties);
  return Buffer.concat([lengthOf(fields.length), fields]);
}

/** The same without their length, to append to others. */
export function encodeFields(properties: Properties): Buffer {
  const { userProperties = [], subscriptionIdentifiers = [] } = properties;
  return Buffer.concat([
    ...byte(0x01, properties.payloadFormat),
    ...uint32(0x02, properties.messageExpirySeconds),
    ...text(0x03, properties.contentType),
    ...text(0x08, properties.responseTopic),
    ...binary(0x09, properties.correlationData),
    ...subscriptionIdentifiers.flatMap((identifier) => [Buffer.from([0x0b]), lengthOf(identifier)]),
    ...uint32(0x11, properties.sessionExpirySeconds),
    ...text(0x12, properties.assignedClientIdentifier),
    ...uint16(0x13, properties.serverKeepAliveSeconds),
    ...text(0x1a, properties.responseInformation),
    ...text(0x1f, properties.reasonString),
    ...uint16(0x21, properties.receiveMaximum),
    ...uint16(0x22, properties.topicAliasMaximum),
    ...uint16(0x23, properties.topicAlias),
    ...userProperties.flatMap(([name, value]) => [...text(0x26, name), textBytes(value)]),
    ...uint32(0x27, properties.maximumPacketBytes),
  ]);
}

/** Joins fields (`encodeFields`), with their length in front. */
export function joinFields(fields: readonly Buffer[]): Buffer {
  const length = fields.reduce((sum, { length: bytes }) => sum + bytes, 0);
  return length === 0 ? NO_PROPERTIES : Buffer.concat([lengthOf(length), ...fields]);
}

/** A variable byte integer (MQTT 5, 1.5.5). */
function lengthOf(length: number): Buffer {
  const digits: number[] = [];
  let rest = length;
  do {
    const digit = rest & (LENGTH_CONTINUES - 1);
    rest >>= LENGTH_BITS;
    digits.push(rest > 0 ? digit | LENGTH_CONTINUES : digit);
  } while (rest > 0);
  return Buffer.from(digits);
}

function byte(identifier: number, value: number | undefined): Buffer[] {
  return value === undefined ? [] : [Buffer.from([identifier, value])];
}

function uint16(identifier: number, value: number | undefined): Buffer[] {
  if (value === undefined) return [];
  const bytes = Buffer.from([identifier, 0, 0]);
  bytes.writeUInt16BE(value, 1);
  return [bytes];
}

function uint32(identifier: number, value: number | undefined): Buffer[] {
  if (value === undefined) return [];
  const bytes = Buffer.from([identifier, 0, 0, 0, 0]);
  bytes.writeUInt32BE(value, 1);
  return [bytes];
}

function text(identifier: number, value: string | undefined): Buffer[] {
  return value === undefined ? [] : [Buffer.from([identifier]), textBytes(value)];
}

function textBytes(value: string): Buffer {
  return withLength(Buffer.from(value));
}

function binary(identifier: number, value: Buffer | undefined): Buffer[] {
  return value === undefined ? [] : [Buffer.from([identifier]), withLength(value)];
}

function withLength(value: Buffer): Buffer {
  const bytes = value.subarray(0, MAX_TEXT_BYTES);
  const length = Buffer.allocUnsafe(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
