/** Decodes the packets that clients send (MQTT 3.1.1 and 5, 3), one whole packet at a time. */

import { isFilter, SHARE_PREFIX } from '../domain/topics.js';
import { checkLength, fieldsOf, type Reader } from './bytes.js';
import { BAD_AUTHENTICATION_METHOD, PacketError, PROTOCOL_ERROR } from './codes.js';
import type {
  AcknowledgementPacket,
  ClientPacket,
  ConnectPacket,
  DisconnectPacket,
  Message,
  MqttVersion,
  PublishPacket,
  QoS,
  RequestedFilter,
  SubscribePacket,
  UnsubscribePacket,
} from './packets.js';
import { type Properties, readProperties } from './properties.js';

/** Packet types (MQTT 5, 2.1.2). */
const CONNECT = 1;
const PUBLISH = 3;
const ACKNOWLEDGEMENTS: ReadonlyMap<number, AcknowledgementPacket['cmd']> = new Map([
  [4, 'puback'],
  [5, 'pubrec'],
  [6, 'pubrel'],
  [7, 'pubcomp'],
]);
const PUBREL = 6;
const SUBSCRIBE = 8;
const UNSUBSCRIBE = 10;
const PINGREQ = 12;
const DISCONNECT = 14;
const AUTH = 15;

const TYPE_SHIFT = 4;
const FLAG_BITS = 0x0f;
/** The flags that PUBREL, SUBSCRIBE and UNSUBSCRIBE must have [MQTT-2.1.3-1]. */
const QOS_1_FLAGS = 0x02;
const DUP = 0x08;
const RETAIN = 0x01;
const QOS_SHIFT = 1;
const QOS_BITS = 0x03;
/** Indexed by its bits; a fourth does not exist. */
const QOS = [0, 1, 2] as const;
/** The first byte of a PUBACK. */
const PUBACK = 0x40;
/** Where the identifier of a short packet begins. */
const IDENTIFIER_AT = 2;

/** Subscription options (MQTT 5, 3.8.3.1). */
const NO_LOCAL = 0x04;
const RETAIN_AS_PUBLISHED = 0x08;
const RETAIN_HANDLING_SHIFT = 4;
const MAX_RETAIN_HANDLING = 2;
/** All bits that have a meaning; in 3.1.1 only those of the QoS. */
const OPTION_BITS = 0x3f;

/** No client of ours uses longer topics; MQTT allows 65,535 bytes. */
const MAX_TOPIC_BYTES = 1_024;
const MAX_FILTERS_PER_PACKET = 1_000;

/** The protocol names of the levels of MQTT 3.1, 3.1.1 and 5. */
const NAMES = new Map<number, { readonly name: string; readonly version: MqttVersion }>([
  [3, { name: 'MQIsdp', version: 3 }],
  [4, { name: 'MQTT', version: 4 }],
  [5, { name: 'MQTT', version: 5 }],
]);
/** In the protocol level: a Mosquitto bridge sets it. */
const BRIDGE_BIT = 0x80;

/** Connect flags (MQTT 5, 3.1.2.3). */
const RESERVED = 0x01;
const CLEAN_START = 0x02;
const WILL = 0x04;
const WILL_QOS_SHIFT = 3;
const WILL_QOS_BITS = 0x18;
const WILL_RETAIN = 0x20;
const PASSWORD = 0x40;
const USER_NAME = 0x80;

/** The protocol level of a CONNECT is not supported. */
export class UnknownVersionError extends Error {}

/** @throws PacketError for a packet that breaks a rule, and for a CONNECT, which may only come first [MQTT-3.1.0-2] */
export function decode(packet: Buffer, version: MqttVersion): ClientPacket {
  const header = packet[0] ?? 0;
  const type = header >> TYPE_SHIFT;
  // Most packets of a subscriber, the same in all versions.
  if (header === PUBACK && packet.length === 4) return decodeSuccess(packet);
  const bytes = fieldsOf(packet);
  if (version === 5) checkLength(packet);
  if (type === PUBLISH) return decodePublish(header, bytes, version);
  const mustHave = [PUBREL, SUBSCRIBE, UNSUBSCRIBE].includes(type) ? QOS_1_FLAGS : 0;
  // MQTT 3.1 sets DUP in these, too, when they are sent again (MQTT 3.1, 2.1).
  const reserved = version === 3 && mustHave !== 0 ? FLAG_BITS & ~DUP : FLAG_BITS;
  if ((header & reserved) !== mustHave) throw new PacketError('wrong flags');
  const acknowledgement = ACKNOWLEDGEMENTS.get(type);
  if (acknowledgement !== undefined) return decodeAcknowledgement(acknowledgement, bytes, version);
  switch (type) {
    case SUBSCRIBE:
      return decodeSubscribe(bytes, version);
    case UNSUBSCRIBE:
      return decodeUnsubscribe(bytes, version);
    case PINGREQ:
      bytes.end();
      return { cmd: 'pingreq' };
    case DISCONNECT:
      return decodeDisconnect(bytes, version);
    case AUTH:
      // No CONNECT with an authentication method succeeds, and without one AUTH has no use.
      if (version === 5)
        throw new PacketError('AUTH, which is not offered', BAD_AUTHENTICATION_METHOD);
      throw new PacketError('a packet of another version');
    case CONNECT:
      throw new PacketError('a second CONNECT', PROTOCOL_ERROR);
    default:
      throw new PacketError('a packet that only servers send', PROTOCOL_ERROR);
  }
}

function decodePublish(header: number, bytes: Reader, version: MqttVersion): PublishPacket {
  const packetBytes = bytes.left;
  const qos = qosOf(header >> QOS_SHIFT);
  const dup = (header & DUP) !== 0;
  // [MQTT-3.3.1-2]
  if (qos === 0 && dup) throw new PacketError('DUP at QoS 0');
  const topic = bytes.text('topic');
  const messageId = qos === 0 ? 0 : identifierOf(bytes);
  const properties = version === 5 ? someProperties(bytes, 'publish') : undefined;
  // A topic that is left out has an alias (MQTT 5, 3.3.2.3.4).
  const isLeftOut = topic === '' && properties?.topicAlias !== undefined;
  if (version === 5 && topic === '' && !isLeftOut) {
    throw new PacketError('neither a topic nor an alias', PROTOCOL_ERROR);
  }
  checkTopics(isLeftOut ? undefined : topic, properties);
  const retain = (header & RETAIN) !== 0;
  const payload = bytes.rest();
  return {
    cmd: 'publish',
    topic,
    payload,
    qos,
    dup,
    retain,
    messageId,
    properties,
    bytes: packetBytes,
  };
}

function decodeAcknowledgement(
  cmd: AcknowledgementPacket['cmd'],
  bytes: Reader,
  version: MqttVersion,
): AcknowledgementPacket {
  const messageId = identifierOf(bytes);
  // Success and an empty set of properties may be left out (MQTT 5, 3.4.2.1).
  const reasonCode = version === 5 && bytes.left > 0 ? bytes.byte() : 0;
  if (version === 5 && bytes.left > 0) readProperties(bytes, 'acknowledgement');
  bytes.end();
  return { cmd, messageId, reasonCode };
}

/** A PUBACK without a reason code. */
function decodeSuccess(packet: Buffer): AcknowledgementPacket {
  const messageId = packet.readUInt16BE(IDENTIFIER_AT);
  if (messageId === 0) throw noIdentifier();
  return { cmd: 'puback', messageId, reasonCode: 0 };
}

function decodeSubscribe(bytes: Reader, version: MqttVersion): SubscribePacket {
  const messageId = identifierOf(bytes);
  const properties = version === 5 ? readProperties(bytes, 'subscribe') : {};
  const filters: RequestedFilter[] = [];
  while (bytes.left > 0) filters.push(decodeFilter(bytes, version));
  checkFilters(filters.map(({ filter }) => filter));
  const [subscriptionIdentifier] = properties.subscriptionIdentifiers ?? [];
  return { cmd: 'subscribe', messageId, filters, subscriptionIdentifier };
}

function decodeFilter(bytes: Reader, version: MqttVersion): RequestedFilter {
  const filter = bytes.text('filter');
  const options = bytes.byte();
  // [MQTT-3.8.3-5]
  if ((options & ~(version === 5 ? OPTION_BITS : QOS_BITS)) !== 0) {
    throw new PacketError('options that are reserved');
  }
  const retainHandling = options >> RETAIN_HANDLING_SHIFT;
  if (retainHandling > MAX_RETAIN_HANDLING) {
    throw new PacketError('an unknown retain handling', PROTOCOL_ERROR);
  }
  const isNoLocal = (options & NO_LOCAL) !== 0;
  // [MQTT-3.8.3-4]
  if (isNoLocal && filter.startsWith(SHARE_PREFIX)) {
    throw new PacketError('a shared subscription without its own messages', PROTOCOL_ERROR);
  }
  return {
    filter,
    qos: qosOf(options),
    isNoLocal,
    isRetainAsPublished: (options & RETAIN_AS_PUBLISHED) !== 0,
    retainHandling,
  };
}

function decodeUnsubscribe(bytes: Reader, version: MqttVersion): UnsubscribePacket {
  const messageId = identifierOf(bytes);
  if (version === 5) readProperties(bytes, 'unsubscribe');
  const filters: string[] = [];
  while (bytes.left > 0) filters.push(bytes.text('filter'));
  checkFilters(filters);
  return { cmd: 'unsubscribe', messageId, filters };
}

function decodeDisconnect(bytes: Reader, version: MqttVersion): DisconnectPacket {
  const reasonCode = version === 5 && bytes.left > 0 ? bytes.byte() : 0;
  const properties =
    version === 5 && bytes.left > 0 ? readProperties(bytes, 'disconnect') : undefined;
  bytes.end();
  return { cmd: 'disconnect', reasonCode, properties };
}

/** Undefined if there are none, as in most packets. */
function someProperties(bytes: Reader, packet: 'publish'): Properties | undefined {
  const properties = readProperties(bytes, packet);
  for (const _ in properties) return properties;
  return undefined;
}

/** [MQTT-2.2.1-3] */
function identifierOf(bytes: Reader): number {
  const identifier = bytes.uint16();
  if (identifier === 0) throw noIdentifier();
  return identifier;
}

function noIdentifier(): PacketError {
  return new PacketError('no packet identifier', PROTOCOL_ERROR);
}

/** [MQTT-3.3.1-4] */
function qosOf(bits: number, field = 'QoS'): QoS {
  const qos = QOS[bits & QOS_BITS];
  if (qos === undefined) throw new PacketError(`unusable ${field}`);
  return qos;
}

/**
 * @param of names a will in the error: a will is checked like a PUBLISH
 * @throws PacketError
 */
export function checkTopics(
  topic: string | undefined,
  properties: Properties | undefined,
  of = '',
): void {
  if (topic !== undefined && !isName(topic)) throw new PacketError(`unusable topic${of}`);
  // [MQTT-3.3.2-14]
  if (properties?.responseTopic === undefined || isName(properties.responseTopic)) return;
  throw new PacketError(`unusable response topic${of}`, PROTOCOL_ERROR);
}

/** Whether it is the name of a topic [MQTT-3.3.2-2], [MQTT-4.7.3-1]. */
function isName(topic: string): boolean {
  const hasWildcard = topic.includes('+') || topic.includes('#');
  return topic !== '' && !hasWildcard && Buffer.byteLength(topic) <= MAX_TOPIC_BYTES;
}

/** [MQTT-3.8.3-2], [MQTT-3.10.3-2], [MQTT-4.7.3-1]; too many: dependency-faults.md, 5. */
function checkFilters(filters: readonly string[]): void {
  if (filters.length === 0) throw new PacketError('no filters', PROTOCOL_ERROR);
  if (filters.length > MAX_FILTERS_PER_PACKET) throw new PacketError('too many filters');
  const isUsable = (filter: string) =>
    isFilter(filter) && Buffer.byteLength(filter) <= MAX_TOPIC_BYTES;
  if (!filters.every(isUsable)) throw new PacketError('unusable filter');
}

/**
 * Finds the version of a CONNECT.
 *
 * @throws UnknownVersionError
 * @throws PacketError
 */
export function versionOf(packet: Buffer): MqttVersion {
  return decodeVersion(fieldsOf(packet));
}

/**
 * Decodes a CONNECT (MQTT 3.1.1 and 5, 3.1).
 *
 * @throws UnknownVersionError whatever else is wrong with the packet [MQTT-3.1.2-2]
 * @throws PacketError
 */
export function decodeConnect(packet: Buffer): ConnectPacket {
  const bytes = fieldsOf(packet);
  const packetBytes = bytes.left;
  const version = decodeVersion(bytes);
  const flags = bytes.byte();
  if (version === 5) checkLength(packet);
  // [MQTT-3.1.2-3]; MQTT 3.1 ignores it.
  if (version !== 3 && (flags & RESERVED) !== 0) throw new PacketError('a flag that is reserved');
  const keepAliveSeconds = bytes.uint16();
  const properties = version === 5 ? readProperties(bytes, 'connect') : undefined;
  const clientId = bytes.text('client id');
  const will = decodeWill(flags, bytes, version);
  const username = (flags & USER_NAME) === 0 ? undefined : bytes.text('user name');
  const password = (flags & PASSWORD) === 0 ? undefined : bytes.binary();
  // [MQTT-3.1.2-22] of 3.1.1
  if (password !== undefined && username === undefined && version !== 5) {
    throw new PacketError('a password without a user name');
  }
  // [MQTT-3.1.4-1]: a field that no flag announces must not be there.
  if (bytes.left > 0) throw new PacketError('bytes behind the fields of CONNECT');
  return {
    cmd: 'connect',
    version,
    clientId,
    isCleanStart: (flags & CLEAN_START) !== 0,
    keepAliveSeconds,
    username,
    password,
    will,
    properties,
    bytes: packetBytes,
  };
}

function decodeVersion(bytes: Reader): MqttVersion {
  const name = bytes.binary().toString('latin1');
  const level = bytes.byte() & ~BRIDGE_BIT;
  const known = NAMES.get(level);
  if (known?.name === name) return known.version;
  const isName = Array.from(NAMES.values()).some((one) => one.name === name);
  // [MQTT-3.1.2-1], [MQTT-3.1.2-2]
  if (!isName) throw new PacketError('an unknown protocol name');
  throw new UnknownVersionError('unacceptable protocol version');
}

function decodeWill(flags: number, bytes: Reader, version: MqttVersion): Message | undefined {
  const qos = qosOf(flags >> WILL_QOS_SHIFT, 'QoS of the will');
  if ((flags & WILL) === 0) {
    // [MQTT-3.1.2-11], [MQTT-3.1.2-13]; MQTT 3.1 ignores them.
    if (version !== 3 && (flags & (WILL_QOS_BITS | WILL_RETAIN)) !== 0) {
      throw new PacketError('flags of a will that is not there', PROTOCOL_ERROR);
    }
    return undefined;
  }
  const properties = version === 5 ? readProperties(bytes, 'will') : undefined;
  const topic = bytes.text('topic of the will');
  const payload = bytes.binary();
  return { topic, payload, qos, retain: (flags & WILL_RETAIN) !== 0, properties };
}
