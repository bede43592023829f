import type {
  IConnectPacket,
  IPublishPacket,
  ISubscribePacket,
  IUnsubscribePacket,
  Packet,
} from 'mqtt-packet';
import { isFilter } from '../../domain/topics.js';
import { ConnectError } from '../admission/connect-errors.js';
import { NAMES_OF_LEVELS } from './decoding.js';

const MAX_CLIENT_ID_BYTES = 256;
const MAX_FILTERS_PER_PACKET = 1_000;

/** No client of ours uses longer topics; MQTT allows 65,535 bytes. */
const MAX_TOPIC_BYTES = 1024;

const IDENTIFIER_BYTES = 2;

/** Level, flags and keep-alive, the fields of a CONNECT of a fixed length. */
const FIXED_CONNECT_BYTES = 4;
const LENGTH_BYTES = 2;

/**
 * Finds a rule of MQTT that a packet breaks and the parser does not check; undefined: none.
 *
 * @param packet any but a CONNECT (`connectFault`)
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

/** Finds a rule that a CONNECT breaks and the parser does not check; undefined: none. */
export function connectFault(packet: IConnectPacket): string | ConnectError | undefined {
  const { clientId, username = '', password, will, protocolId, protocolVersion = 4 } = packet;
  // [MQTT-3.1.2-1]
  if (protocolId !== NAMES_OF_LEVELS.get(protocolVersion)) {
    return 'a protocol name of another level';
  }
  if (isIllFormed(clientId)) return 'unusable client id';
  if (isIllFormed(username)) return 'unusable user name';
  // [MQTT-3.1.2-22]
  if (password !== undefined && packet.username === undefined) {
    return 'a password without a user name';
  }
  if (will !== undefined && isUnusableWillTopic(will.topic)) {
    return 'unusable topic of the will';
  }
  // [MQTT-3.1.2-18], [MQTT-3.1.2-20], [MQTT-3.1.4-1]: what no flag announces must not be there.
  if (packet.length !== bytesOf(packet)) return 'bytes behind the fields of CONNECT';
  // [MQTT-3.1.2-14]
  if ((will?.qos ?? 0) > 2) return 'unusable QoS of the will';
  // [MQTT-3.1.3-9]
  return Buffer.byteLength(clientId) > MAX_CLIENT_ID_BYTES
    ? new ConnectError('client-id-too-long', { reason: 'client id too long' })
    : undefined;
}

/** The length of a CONNECT by its fields; they are well-formed, so decoding has kept their lengths. */
function bytesOf({
  protocolId = 'MQTT',
  clientId,
  will,
  username,
  password,
}: IConnectPacket): number {
  const fields = [protocolId, clientId, will?.topic, will?.payload, username, password];
  const present = fields.filter((field) => field !== undefined);
  return present.reduce(
    (sum, field) => sum + LENGTH_BYTES + Buffer.byteLength(field),
    FIXED_CONNECT_BYTES,
  );
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

/** Checks the topic of a will like that of a PUBLISH, which Aedes does not [MQTT-4.7.3-1]. */
function isUnusableWillTopic(topic: string): boolean {
  return topic === '' || isUnusable(topic) || topic.includes('+') || topic.includes('#');
}

function isUnusable(topic: string): boolean {
  return Buffer.byteLength(topic) > MAX_TOPIC_BYTES || isIllFormed(topic);
}

/**
 * Whether a text holds U+0000 [MQTT-1.5.3-2] or was not UTF-8 [MQTT-1.5.3-1].
 *
 * The parser replaces every ill-formed byte by U+FFFD. A U+FFFD that the client meant cannot be
 * told from that, and fails too: no honest name contains it.
 */
function isIllFormed(text: string): boolean {
  return text.includes('\u0000') || text.includes('\ufffd');
}
