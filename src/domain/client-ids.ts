/** Prefix of the client ids of bridges' queues; no MQTT client may have one. */
export const BRIDGE_CLIENT_ID_PREFIX = 'bridge/';
