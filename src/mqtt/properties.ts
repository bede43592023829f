/** The properties of MQTT 5 (2.2.2). */

import type { PacketBytes } from './packet-bytes.js';
import { PacketError } from './packet-error.js';
import { MALFORMED_PACKET, PROTOCOL_ERROR, QUOTA_EXCEEDED } from './reason-codes.js';

/** Undefined: left out. */
export interface Properties {
  payloadFormat?: number | undefined;
  messageExpirySeconds?: number | undefined;
  contentType?: string | undefined;
  responseTopic?: string | undefined;
  correlationData?: Buffer | undefined;
  /** At most one in a SUBSCRIBE. */
  subscriptionIdentifiers?: readonly number[] | undefined;
  sessionExpirySeconds?: number | undefined;
  assignedClientIdentifier?: string | undefined;
  serverKeepAliveSeconds?: number | undefined;
  authenticationMethod?: string | undefined;
  requestProblemInformation?: number | undefined;
  willDelaySeconds?: number | undefined;
  requestResponseInformation?: number | undefined;
  responseInformation?: string | undefined;
  reasonString?: string | undefined;
  receiveMaximum?: number | undefined;
  topicAliasMaximum?: number | undefined;
  topicAlias?: number | undefined;
  userProperties?: readonly (readonly [string, string])[] | undefined;
  maximumPacketBytes?: number | undefined;
}

const USER_PROPERTY = 0x26;
/** Per packet; a packet has room for 50,000, which take long to read. */
const MAX_USER_PROPERTIES = 1_000;
const SUBSCRIPTION_IDENTIFIER = 0x0b;
const AUTHENTICATION_METHOD = 0x15;
const AUTHENTICATION_DATA = 0x16;

/** What each packet of a client may have, user properties aside (MQTT 5, table 2-4). */
const ALLOWED = {
  connect: [0x11, AUTHENTICATION_METHOD, AUTHENTICATION_DATA, 0x17, 0x19, 0x21, 0x22, 0x27],
  will: [0x01, 0x02, 0x03, 0x08, 0x09, 0x18],
  publish: [0x01, 0x02, 0x03, 0x08, 0x09, 0x23],
  acknowledgement: [0x1f],
  subscribe: [SUBSCRIPTION_IDENTIFIER],
  unsubscribe: [],
  disconnect: [0x11, 0x1f],
} as const satisfies Record<string, readonly number[]>;
export type PropertiesOf = keyof typeof ALLOWED;

/**
 * Reads the properties of a packet, their length first.
 *
 * @throws PacketError for a property that the packet may not have, that occurs twice, or whose value is not allowed
 */
export function readProperties(from: PacketBytes, packet: PropertiesOf): Properties {
  const bytes = from.part(from.length());
  const properties: Properties = {};
  const userProperties: [string, string][] = [];
  const seen = new Set<number>();
  const allowed: readonly number[] = ALLOWED[packet];
  while (bytes.left > 0) {
    const identifier = bytes.length();
    if (identifier === USER_PROPERTY) {
      userProperties.push([bytes.text('user property'), bytes.text('user property')]);
      if (userProperties.length <= MAX_USER_PROPERTIES) continue;
      throw new PacketError('too many user properties', QUOTA_EXCEEDED);
    }
    if (!allowed.includes(identifier)) {
      // [MQTT-3.3.4-6]: of all that are not allowed, only this one breaks the protocol.
      const isIdentifier = packet === 'publish' && identifier === SUBSCRIPTION_IDENTIFIER;
      const code = isIdentifier ? PROTOCOL_ERROR : MALFORMED_PACKET;
      throw new PacketError('a property that is not allowed here', code);
    }
    if (seen.has(identifier)) {
      throw new PacketError('a property that is there twice', PROTOCOL_ERROR);
    }
    seen.add(identifier);
    readProperty(properties, identifier, bytes);
  }
  // [MQTT 5, 3.1.2.11.10]
  if (seen.has(AUTHENTICATION_DATA) && !seen.has(AUTHENTICATION_METHOD)) {
    throw new PacketError('authentication data without a method', PROTOCOL_ERROR);
  }
  if (userProperties.length > 0) properties.userProperties = userProperties;
  return properties;
}

function readProperty(properties: Properties, identifier: number, bytes: PacketBytes): void {
  switch (identifier) {
    case 0x01:
      properties.payloadFormat = flag(bytes);
      break;
    case 0x02:
      properties.messageExpirySeconds = bytes.uint32();
      break;
    case 0x03:
      properties.contentType = bytes.text('content type');
      break;
    case 0x08:
      properties.responseTopic = bytes.text('response topic');
      break;
    case 0x09:
      properties.correlationData = bytes.binary();
      break;
    case SUBSCRIPTION_IDENTIFIER:
      properties.subscriptionIdentifiers = [positive(bytes.length())];
      break;
    case 0x11:
      properties.sessionExpirySeconds = bytes.uint32();
      break;
    case AUTHENTICATION_METHOD:
      properties.authenticationMethod = bytes.text('authentication method');
      break;
    case AUTHENTICATION_DATA:
      bytes.binary();
      break;
    case 0x17:
      properties.requestProblemInformation = flag(bytes);
      break;
    case 0x18:
      properties.willDelaySeconds = bytes.uint32();
      break;
    case 0x19:
      properties.requestResponseInformation = flag(bytes);
      break;
    case 0x1f:
      properties.reasonString = bytes.text('reason string');
      break;
    case 0x21:
      // 0 breaks the protocol, but a Mosquitto bridge sends it for `max_inflight_messages 0`.
      properties.receiveMaximum = bytes.uint16() || undefined;
      break;
    case 0x22:
      properties.topicAliasMaximum = bytes.uint16();
      break;
    case 0x23:
      properties.topicAlias = bytes.uint16();
      break;
    case 0x27:
      properties.maximumPacketBytes = positive(bytes.uint32());
      break;
    default:
      throw new PacketError('an unknown property');
  }
}

function flag(bytes: PacketBytes): number {
  const value = bytes.byte();
  if (value > 1) throw new PacketError('a property that is neither 0 nor 1', PROTOCOL_ERROR);
  return value;
}

function positive(value: number): number {
  if (value === 0) throw new PacketError('a property that must not be 0', PROTOCOL_ERROR);
  return value;
}
