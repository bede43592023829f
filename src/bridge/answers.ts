import { ReasonCodes } from 'mqtt';
import constants from 'mqtt-packet/constants.js';

const PACKET_TOO_LARGE = 149;

/**
 * Lets mqtt.js read an answer that MQTT 5 does not know (3.4.2.1) and Mosquitto 2.0 gives all the same,
 * to a message beyond its `message_size_limit`. Otherwise it would end the connection, and the same
 * message would come first on the next, for ever.
 */
export function readMosquittosAnswers(): void {
  constants.MQTT5_PUBACK_PUBREC_CODES[PACKET_TOO_LARGE] = ReasonCodes[PACKET_TOO_LARGE];
}
