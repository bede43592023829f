import { checkLength, qosOf, startOf } from './decode.js';
import { PacketBytes } from './packet-bytes.js';
import { PacketError } from './packet-error.js';
import type { ConnectPacket, Message, MqttVersion } from './packets.js';
import { readProperties } from './properties.js';
import { PROTOCOL_ERROR } from './reason-codes.js';

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

/**
 * Finds the version of a CONNECT.
 *
 * @throws UnknownVersionError
 * @throws PacketError
 */
export function versionOf(packet: Buffer): MqttVersion {
  return decodeVersion(new PacketBytes(packet, startOf(packet)));
}

/**
 * Decodes a CONNECT (MQTT 3.1.1 and 5, 3.1).
 *
 * @throws UnknownVersionError whatever else is wrong with the packet [MQTT-3.1.2-2]
 * @throws PacketError
 */
export function decodeConnect(packet: Buffer): ConnectPacket {
  const start = startOf(packet);
  const bytes = new PacketBytes(packet, start);
  const version = decodeVersion(bytes);
  const flags = bytes.byte();
  checkLength(packet, start, version);
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
    bytes: packet.length - start,
  };
}

function decodeVersion(bytes: PacketBytes): MqttVersion {
  const name = bytes.binary().toString('latin1');
  const level = bytes.byte() & ~BRIDGE_BIT;
  const known = NAMES.get(level);
  if (known?.name === name) return known.version;
  const isName = Array.from(NAMES.values()).some((one) => one.name === name);
  // [MQTT-3.1.2-1], [MQTT-3.1.2-2]
  if (!isName) throw new PacketError('an unknown protocol name');
  throw new UnknownVersionError('unacceptable protocol version');
}

function decodeWill(flags: number, bytes: PacketBytes, version: MqttVersion): Message | undefined {
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
