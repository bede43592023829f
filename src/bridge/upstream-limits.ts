import type { IConnackPacket } from 'mqtt';

/** Limits in an upstream's CONNACK (MQTT 5, 3.2.2.3); MQTT 3.1.1 has none. */
export interface UpstreamLimits {
  /** Undefined: no limit. */
  readonly maxInFlight: number | undefined;
  readonly maxPacketBytes: number;
  readonly maxQos: 0 | 1 | 2;
  readonly takesRetained: boolean;
}

/** Reads the upstream's limits from its CONNACK. */
export function limitsOf({ properties }: IConnackPacket): UpstreamLimits {
  const { receiveMaximum, maximumPacketSize, maximumQoS, retainAvailable } = properties ?? {};
  return {
    maxInFlight: receiveMaximum,
    maxPacketBytes: maximumPacketSize ?? Number.POSITIVE_INFINITY,
    maxQos: maximumQoS === 0 || maximumQoS === 1 ? maximumQoS : 2,
    takesRetained: retainAvailable !== false,
  };
}

const LENGTH_BYTES = 2;
const PACKET_IDENTIFIER_BYTES = 2;
const NO_PROPERTIES_BYTES = 1;
const BITS_OF_A_LENGTH_BYTE = 7;

/** The length of a PUBLISH on the wire with MQTT 5 (3.3), without properties. */
export function packetBytes(topic: string, payload: Buffer, qos: 0 | 1 | 2): number {
  const remaining =
    LENGTH_BYTES +
    Buffer.byteLength(topic) +
    (qos === 0 ? 0 : PACKET_IDENTIFIER_BYTES) +
    NO_PROPERTIES_BYTES +
    payload.length;
  const lengthBytes = Math.floor(Math.log2(remaining) / BITS_OF_A_LENGTH_BYTE) + 1;
  return 1 + lengthBytes + remaining;
}
