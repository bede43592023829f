/** How a bridge presents itself to its upstream: the options of mqtt.js for one connection. */
import { readFile } from 'node:fs/promises';
import type { IClientOptions } from 'mqtt';
import type { BridgeOptions } from '../domain/bridge-schema.js';
import { MAX_WAITING_COMMANDS, type ProtocolVersion } from './upstream.js';

const CONNECT_TIMEOUT_MS = 10_000;
const SECONDS_PER_HOUR = 3600;
/** Up to this multiple of the limit, packets over it are read to the end and dropped: a command may be a slip. */
const GATHERED_TIMES = 4;
/** A frame of a WebSocket may hold many packets [MQTT-6.0.0-3]. */
const MIN_GATHERED_BYTES = 1024 * 1024;

/**
 * The largest packet, and WebSocket frame, that is gathered in memory.
 *
 * @param maxPacketBytes the largest packet that the gateway accepts
 */
export function maxGatheredBytes(maxPacketBytes: number): number {
  return Math.max(MIN_GATHERED_BYTES, GATHERED_TIMES * maxPacketBytes);
}

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
  clientId: string,
  maxPacketBytes: number,
  protocolVersion: ProtocolVersion,
  forgetsSession: boolean,
): Promise<IClientOptions> {
  const { username, password, caFile, certFile, keyFile, serverName } = bridge;
  const clean = forgetsSession || !keepsSession(bridge);
  const sessionExpiryInterval = bridge.maxQueuedHours * SECONDS_PER_HOUR;
  return {
    clientId,
    protocolVersion,
    clean,
    ...(protocolVersion === 5 && {
      properties: {
        receiveMaximum: MAX_WAITING_COMMANDS,
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
    wsOptions: {
      // For a WebSocket, mqtt.js passes certificates on but not the server name.
      ...(serverName !== undefined && { servername: serverName, rejectUnauthorized: true }),
      maxPayload: maxGatheredBytes(maxPacketBytes),
    },
  };
}

/**
 * Whether the upstream keeps a session, so that no command is lost while the bridge is away.
 * Not at QoS 2: the upstream would remember packet identifiers that the next connection gives to other
 * messages, and drop those as repetitions [MQTT-4.3.3-2].
 */
function keepsSession({ commands, qos }: BridgeOptions): boolean {
  return commands.length > 0 && qos !== 2;
}
