/** Sessions with such a client id are queues of bridges; no MQTT client may have one. */
export const BRIDGE_CLIENT_ID_PREFIX = 'bridge/';
