import { readFile } from 'node:fs/promises';
import type { IClientOptions } from 'mqtt';
import type { BridgeOptions } from './bridge-options.js';
import { MAX_WAITING } from './late-acks.js';

const CONNECT_TIMEOUT_MS = 10_000;
const SECONDS_PER_HOUR = 3600;

/** How the gateway presents the bridge to its upstream. */
export interface LinkIdentity {
  readonly clientId: string;
  /** More at a time it takes from nobody. */
  readonly maxPacketBytes: number;
}

/** A version of MQTT as its CONNECT names it. */
export type ProtocolVersion = 4 | 5;

/**
 * What mqtt.js is to do for one connection, and not to do: it neither connects again by itself nor
 * keeps messages. The certificates are read anew, so that renewed ones are taken up.
 *
 * @throws Error of the file system
 */
export async function clientOptions(
  bridge: BridgeOptions,
  { clientId, maxPacketBytes }: LinkIdentity,
  protocolVersion: ProtocolVersion,
): Promise<IClientOptions> {
  const { username, password, caFile, certFile, keyFile, serverName } = bridge;
  const clean = !keepsSession(bridge);
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
    // Pings also while messages are sent: a broker that answers neither is found dead.
    reschedulePings: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(caFile !== undefined && { ca: await readFile(caFile) }),
    ...(certFile !== undefined && { cert: await readFile(certFile) }),
    ...(keyFile !== undefined && { key: await readFile(keyFile) }),
    ...(serverName !== undefined && serverNameOptions(serverName)),
    rejectUnauthorized: true,
  };
}

/** To a WebSocket mqtt.js passes certificates on, and no name. */
function serverNameOptions(servername: string) {
  return { servername, wsOptions: { servername, rejectUnauthorized: true } };
}

/**
 * Whether the upstream keeps a session, so that no command is lost while the connection is away. Not
 * at QoS 2: it would remember packet identifiers that the next connection gives to other messages,
 * and take those for repetitions [MQTT-4.3.3-2].
 */
function keepsSession({ commands, qos }: BridgeOptions): boolean {
  return commands.length > 0 && qos !== 2;
}
