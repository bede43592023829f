/** The CONNACK return codes of connect errors (MQTT 3.1.1, 3.2.2.3). */
export const UNACCEPTABLE_PROTOCOL_VERSION = 1;
export const IDENTIFIER_REJECTED = 2;
export const SERVER_UNAVAILABLE = 3;
export const BAD_CREDENTIALS = 4;
export const NOT_AUTHORIZED = 5;
