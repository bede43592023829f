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
