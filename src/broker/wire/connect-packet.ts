/** Reads CONNECT (MQTT 3.1.1, 3.1). */

import type { IConnectPacket } from 'mqtt-packet';
import { ConnectError } from '../admission/connect-errors.js';
import { isIllFormed, isUnusable, PacketDecoder, PacketError, startOf } from './decoding.js';

const MAX_CLIENT_ID_BYTES = 256;
/** Level, flags and keep-alive, the fields of a CONNECT of a fixed length. */
const FIXED_CONNECT_BYTES = 4;
const LENGTH_BYTES = 2;
/** The protocol names of the levels of MQTT 3.1 and 3.1.1. */
export const NAMES_OF_LEVELS: ReadonlyMap<number, string> = new Map([
  [3, 'MQIsdp'],
  [4, 'MQTT'],
]);
/** Of the protocol level: a Mosquitto that is a bridge says so. */
const BRIDGE_BIT = 0x80;

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

/** Checks the topic of a will like that of a PUBLISH, which Aedes does not [MQTT-4.7.3-1]. */
function isUnusableWillTopic(topic: string): boolean {
  return topic === '' || isUnusable(topic) || topic.includes('+') || topic.includes('#');
}
