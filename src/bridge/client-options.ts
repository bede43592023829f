import { readFile } from 'node:fs/promises';
import type { IClientOptions } from 'mqtt';
import { ReasonCodes } from 'mqtt';
import constants from 'mqtt-packet/constants.js';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import { PACKET_TOO_LARGE } from './connection-failure.js';
import { MAX_WAITING } from './late-acks.js';

// Makes mqtt.js accept "packet too large" in a PUBACK. MQTT 5 does not allow it there (3.4.2.1), but Mosquitto 2.0
// sends it beyond its `message_size_limit`. mqtt.js would end the connection, and the same message would come first
// on the next one, for ever.
constants.MQTT5_PUBACK_PUBREC_CODES[PACKET_TOO_LARGE] = ReasonCodes[PACKET_TOO_LARGE];

const CONNECT_TIMEOUT_MS = 10_000;
const SECONDS_PER_HOUR = 3600;

/** How the gateway presents the bridge to its upstream. */
export interface LinkIdentity {
  readonly clientId: string;
  /** The largest packet that the gateway accepts. */
  readonly maxPacketBytes: number;
}

/** A version of MQTT as its CONNECT names it. */
export type ProtocolVersion = 4 | 5;

/**
 * Options of mqtt.js for one connection.
 * mqtt.js neither reconnects nor stores messages. Certificates are read again each time, so that
 * renewed ones take effect.
 *
 * @param forgetsSession whether the upstream must discard what it holds for the bridge
 * @throws Error of the file system
 */
export async function clientOptions(
  bridge: BridgeOptions,
  identity: LinkIdentity,
  protocolVersion: ProtocolVersion,
  forgetsSession: boolean,
): Promise<IClientOptions> {
  const { clientId, maxPacketBytes } = identity;
  const { username, password, caFile, certFile, keyFile, serverName } = bridge;
  const clean = forgetsSession || !keepsSession(bridge);
  const sessionExpiryInterval = bridge.maxQueuedHours * SECONDS_PER_HOUR;
  return {
    clientId,
    protocolVersion,
    clean,
    ...(protocolVersion === 5 && {
      properties: {
        receiveMaximum: MAX_WAITING,
        maximumPacketSize: maxPacketBytes,
        ...(!clean && { sessionExpiryInterval }),
      },
    }),
    keepalive: bridge.keepAliveSeconds,
    // Pings while messages are sent as well: this detects a broker that answers neither.
    reschedulePings: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    // Its debugging output costs time for each packet, even while it is off.
    log: () => undefined,
    resubscribe: false,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(caFile !== undefined && { ca: await readFile(caFile) }),
    ...(certFile !== undefined && { cert: await readFile(certFile) }),
    ...(keyFile !== undefined && { key: await readFile(keyFile) }),
    ...(serverName !== undefined && { servername: serverName }),
    rejectUnauthorized: true,
    wsOptions: { ...webSocketOptions(serverName), maxPayload: maxGatheredBytes(identity) },
  };
}

/** For a WebSocket, mqtt.js passes certificates on but not the server name. */
function webSocketOptions(servername: string | undefined) {
  return servername === undefined ? {} : { servername, rejectUnauthorized: true };
}

/** Up to this multiple of the limit, packets over it are read to the end and dropped: a command may be a slip. */
const GATHERED_TIMES = 4;
/** A frame of a WebSocket may hold many packets [MQTT-6.0.0-3]. */
const MIN_GATHERED_BYTES = 1024 * 1024;

/** The largest packet, and WebSocket frame, that is gathered in memory. */
export function maxGatheredBytes({ maxPacketBytes }: LinkIdentity): number {
  return Math.max(MIN_GATHERED_BYTES, GATHERED_TIMES * maxPacketBytes);
}

/**
 * Whether the upstream keeps a session, so that no command is lost while the bridge is away.
 * Not at QoS 2: the upstream would remember packet identifiers that the next connection gives to other
 * messages, and drop those as repetitions [MQTT-4.3.3-2].
 */
function keepsSession({ commands, qos }: BridgeOptions): boolean {
  return commands.length > 0 && qos !== 2;
}
