import type { ConnectPacket, MqttVersion } from '../../mqtt/packets.js';
import type { MqttVersionName } from '../../site/access/connection-list.js';

/** The versions as people know them. */
export const VERSION_NAMES: Readonly<Record<MqttVersion, MqttVersionName>> = {
  3: '3.1',
  4: '3.1.1',
  5: '5',
};

/** The limits that a client states in CONNECT (MQTT 5, 3.1.2.11); earlier versions have the defaults. */
export interface ClientTerms {
  readonly version: MqttVersion;
  /** How many messages at QoS 1 it takes before it acknowledges one. */
  readonly receiveMaximum: number;
  /** Of whole packets. */
  readonly maxPacketBytes: number;
  /** How many topics the gateway may replace by a number. */
  readonly topicAliasMaximum: number;
  /** Whether it wants reasons in words as well as codes. */
  readonly wantsReasons: boolean;
}

const MAX_RECEIVED = 65_535;
/** The longest packet there is (MQTT 5, 2.1.4). */
const MAX_PACKET_BYTES = 268_435_460;

export function termsOf({ version, properties = {} }: ConnectPacket): ClientTerms {
  return {
    version,
    receiveMaximum: properties.receiveMaximum ?? MAX_RECEIVED,
    maxPacketBytes: properties.maximumPacketBytes ?? MAX_PACKET_BYTES,
    topicAliasMaximum: properties.topicAliasMaximum ?? 0,
    wantsReasons: properties.requestProblemInformation !== 0,
  };
}
