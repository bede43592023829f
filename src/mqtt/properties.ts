/** The properties of MQTT 5 (2.2.2): one table for reading and for writing. */

import { type Reader, Writer } from './bytes.js';
import { MALFORMED_PACKET, PacketError, PROTOCOL_ERROR, QUOTA_EXCEEDED } from './codes.js';

/** Undefined: left out. */
export interface Properties {
  payloadFormat?: number | undefined;
  messageExpirySeconds?: number | undefined;
  contentType?: string | undefined;
  responseTopic?: string | undefined;
  correlationData?: Buffer | undefined;
  /** One in a SUBSCRIBE; those of all matching subscriptions in a PUBLISH. */
  subscriptionIdentifiers?: readonly number[] | undefined;
  sessionExpirySeconds?: number | undefined;
  assignedClientIdentifier?: string | undefined;
  serverKeepAliveSeconds?: number | undefined;
  authenticationMethod?: string | undefined;
  authenticationData?: Buffer | undefined;
  requestProblemInformation?: number | undefined;
  willDelaySeconds?: number | undefined;
  requestResponseInformation?: number | undefined;
  responseInformation?: string | undefined;
  reasonString?: string | undefined;
  receiveMaximum?: number | undefined;
  topicAliasMaximum?: number | undefined;
  topicAlias?: number | undefined;
  /** In their order [MQTT-3.3.2-18]. */
  userProperties?: (readonly [string, string])[] | undefined;
  maximumPacketBytes?: number | undefined;
}

/** How values are read and written. */
interface Type<Value> {
  /**
   * @param field its name, for an error
   * @param former what the packet has of it so far
   */
  read(bytes: Reader, field: string, former: Value | undefined): Value;
  /** Writes it behind its identifier. */
  write(writer: Writer, identifier: number, value: Value): void;
}

interface Property {
  readonly name: keyof Properties;
  readonly read: (bytes: Reader, into: Properties) => void;
  readonly write: (from: Properties, writer: Writer) => void;
}

const FLAG: Type<number> = {
  read: (bytes) => flagOf(bytes.byte()),
  write: (writer, identifier, value) => writer.byte(identifier).byte(value),
};
const UINT16: Type<number> = {
  read: (bytes) => bytes.uint16(),
  write: (writer, identifier, value) => writer.byte(identifier).uint16(value),
};
const UINT32: Type<number> = {
  read: (bytes) => bytes.uint32(),
  write: (writer, identifier, value) => writer.byte(identifier).uint32(value),
};
const POSITIVE: Type<number> = {
  ...UINT32,
  read: (bytes) => positive(bytes.uint32()),
};
const TEXT: Type<string> = {
  read: (bytes, field) => bytes.text(field),
  write: (writer, identifier, value) => writer.byte(identifier).text(value),
};
const BINARY: Type<Buffer> = {
  read: (bytes) => bytes.binary(),
  write: (writer, identifier, value) => writer.byte(identifier).binary(value),
};
const IDENTIFIERS: Type<readonly number[]> = {
  read: (bytes) => [positive(bytes.varint())],
  write: (writer, identifier, values) => {
    for (const value of values) writer.byte(identifier).varint(value);
  },
};
const PAIRS: Type<(readonly [string, string])[]> = {
  read: (bytes, field, pairs = []) => {
    pairs.push([bytes.text(field), bytes.text(field)]);
    if (pairs.length <= MAX_USER_PROPERTIES) return pairs;
    throw new PacketError('too many user properties', QUOTA_EXCEEDED);
  },
  write: (writer, identifier, pairs) => {
    for (const [name, value] of pairs) writer.byte(identifier).text(name).text(value);
  },
};

/** A packet has room for 50,000, which take long to read. */
const MAX_USER_PROPERTIES = 1_000;
const USER_PROPERTIES = 0x26;
const AUTHENTICATION_DATA = 0x16;

/** By identifier, in the order in which they are written. */
const TABLE: ReadonlyMap<number, Property> = new Map([
  row(0x01, 'payloadFormat', FLAG),
  row(0x02, 'messageExpirySeconds', UINT32),
  row(0x03, 'contentType', TEXT),
  row(0x08, 'responseTopic', TEXT),
  row(0x09, 'correlationData', BINARY),
  row(0x0b, 'subscriptionIdentifiers', IDENTIFIERS),
  row(0x11, 'sessionExpirySeconds', UINT32),
  row(0x12, 'assignedClientIdentifier', TEXT),
  row(0x13, 'serverKeepAliveSeconds', UINT16),
  row(0x15, 'authenticationMethod', TEXT),
  row(AUTHENTICATION_DATA, 'authenticationData', BINARY),
  row(0x17, 'requestProblemInformation', FLAG),
  row(0x18, 'willDelaySeconds', UINT32),
  row(0x19, 'requestResponseInformation', FLAG),
  row(0x1a, 'responseInformation', TEXT),
  row(0x1f, 'reasonString', TEXT),
  row(0x21, 'receiveMaximum', UINT16),
  row(0x22, 'topicAliasMaximum', UINT16),
  row(0x23, 'topicAlias', UINT16),
  row(USER_PROPERTIES, 'userProperties', PAIRS),
  row(0x27, 'maximumPacketBytes', POSITIVE),
]);

/** The properties that a client may send in each packet, besides user properties (MQTT 5, table 2-4). */
const ALLOWED = {
  connect: [0x11, 0x15, AUTHENTICATION_DATA, 0x17, 0x19, 0x21, 0x22, 0x27],
  will: [0x01, 0x02, 0x03, 0x08, 0x09, 0x18],
  publish: [0x01, 0x02, 0x03, 0x08, 0x09, 0x23],
  acknowledgement: [0x1f],
  subscribe: [0x0b],
  unsubscribe: [],
  disconnect: [0x11, 0x1f],
} as const satisfies Record<string, readonly number[]>;
export type PropertiesOf = keyof typeof ALLOWED;

/** An empty set of properties. */
export const NO_PROPERTIES: Buffer = Buffer.from([0]);

/**
 * Reads the properties of a packet, their length first.
 *
 * @throws PacketError for a property that the packet may not have, that occurs twice, or whose value is not allowed
 */
export function readProperties(from: Reader, packet: PropertiesOf): Properties {
  const bytes = from.part(from.varint());
  const properties: Properties = {};
  const allowed: readonly number[] = ALLOWED[packet];
  while (bytes.left > 0) {
    const identifier = bytes.varint();
    const property = TABLE.get(identifier);
    const isUserProperty = identifier === USER_PROPERTIES;
    if (property === undefined || !(isUserProperty || allowed.includes(identifier))) {
      // [MQTT-3.3.4-6]: of all that are not allowed, only this one breaks the protocol.
      const isOfServer = packet === 'publish' && property?.name === 'subscriptionIdentifiers';
      const code = isOfServer ? PROTOCOL_ERROR : MALFORMED_PACKET;
      throw new PacketError('a property that is not allowed here', code);
    }
    if (property.name in properties && !isUserProperty) {
      throw new PacketError('a property that is there twice', PROTOCOL_ERROR);
    }
    property.read(bytes, properties);
  }
  // [MQTT 5, 3.1.2.11.10]
  if (properties.authenticationData && properties.authenticationMethod === undefined) {
    throw new PacketError('authentication data without a method', PROTOCOL_ERROR);
  }
  // 0 breaks the protocol, but a Mosquitto bridge sends it for `max_inflight_messages 0`.
  if (properties.receiveMaximum === 0) properties.receiveMaximum = undefined;
  return properties;
}

/** Encodes properties with their length. */
export function encodeProperties(properties: Properties): Buffer {
  return joinFields([encodeFields(properties)]);
}

/** The same without their length, to join with others. */
export function encodeFields(properties: Properties): Buffer {
  const writer = new Writer();
  for (const property of TABLE.values()) property.write(properties, writer);
  return writer.bytes;
}

/** Joins fields (`encodeFields`), with their length in front. */
export function joinFields(fields: readonly Buffer[]): Buffer {
  const length = fields.reduce((sum, { length: bytes }) => sum + bytes, 0);
  if (length === 0) return NO_PROPERTIES;
  const writer = new Writer().varint(length);
  for (const one of fields) writer.raw(one);
  return writer.bytes;
}

function row<Name extends keyof Properties>(
  identifier: number,
  name: Name,
  type: Type<NonNullable<Properties[Name]>>,
): [number, Property] {
  const field = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return [
    identifier,
    {
      name,
      read: (bytes, into) => {
        into[name] = type.read(bytes, field, into[name] ?? undefined);
      },
      write: (from, writer) => {
        const value = from[name];
        if (value !== undefined) type.write(writer, identifier, value);
      },
    },
  ];
}

function flagOf(value: number): number {
  if (value > 1) throw new PacketError('a property that is neither 0 nor 1', PROTOCOL_ERROR);
  return value;
}

function positive(value: number): number {
  if (value === 0) throw new PacketError('a property that must not be 0', PROTOCOL_ERROR);
  return value;
}
