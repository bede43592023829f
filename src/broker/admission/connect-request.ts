import { randomUUID } from 'node:crypto';
import { PacketError, PROTOCOL_ERROR } from '../../mqtt/codes.js';
import { checkTopics, decodeConnect, UnknownVersionError, versionOf } from '../../mqtt/decode.js';
import type { ConnectPacket, MqttVersion } from '../../mqtt/packets.js';
import type { Transport } from '../../site/access/connection-list.js';
import { type ClientTerms, termsOf } from '../wire/client-terms.js';
import { ConnectError } from './connect-errors.js';
import type { NetworkPeer } from './network-peer.js';

const MAX_CLIENT_ID_BYTES = 256;

/** The part of a CONNECT that authentication needs: the sender's claims, unchecked. */
export interface ConnectRequest {
  readonly address: string;
  readonly bytes: number;
  readonly clientId: string;
  /** Whether the gateway has chosen the client id [MQTT-3.1.3-6]. */
  readonly isNamedByGateway: boolean;
  readonly username: string | undefined;
  /** Whether the client wants an existing session replaced. */
  readonly isCleanStart: boolean;
  /** Whether the session outlives the connection. */
  readonly isPersistent: boolean;
  /** For how long; undefined: not stated. */
  readonly sessionExpirySeconds: number | undefined;
  readonly keepAliveSeconds: number;
  /** Whether it asks where to receive answers (MQTT 5, 3.1.2.11.6). */
  readonly wantsResponseInformation: boolean;
  readonly protocol: Transport;
  readonly terms: ClientTerms;
}

function requestOf(packet: ConnectPacket, peer: NetworkPeer): ConnectRequest {
  const { version, isCleanStart, clientId, properties } = packet;
  // MQTT 5, 3.1.2.11.2: without it, the session ends with the connection.
  const expiry = version === 5 ? (properties?.sessionExpirySeconds ?? 0) : undefined;
  const isPersistent = expiry === undefined ? !isCleanStart : expiry > 0;
  // [MQTT-3.1.3-7] of 3.1.1: a persistent session needs an identifier from the client.
  const isNamedByGateway = clientId === '' && (version === 5 || !isPersistent);
  return {
    address: peer.address,
    bytes: packet.bytes,
    clientId: isNamedByGateway ? `auto-${randomUUID()}` : clientId,
    isNamedByGateway,
    username: packet.username,
    isCleanStart,
    isPersistent,
    sessionExpirySeconds: expiry,
    keepAliveSeconds: packet.keepAliveSeconds,
    wantsResponseInformation: properties?.requestResponseInformation === 1,
    protocol: peer.transport,
    terms: termsOf(packet),
  };
}

/**
 * Reads a CONNECT.
 *
 * @param onVersion called with its version before the rest of it is read
 * @throws ConnectError for an unsupported version [MQTT-3.1.2-2]
 * @throws PacketError
 */
export function readConnect(
  bytes: Buffer,
  peer: NetworkPeer,
  onVersion: (version: MqttVersion) => void,
): { readonly packet: ConnectPacket; readonly request: ConnectRequest } {
  try {
    onVersion(versionOf(bytes));
    const packet = decodeConnect(bytes);
    return { packet, request: requestOf(packet, peer) };
  } catch (error) {
    if (!(error instanceof UnknownVersionError)) throw error;
    throw new ConnectError('unknown-version', { reason: error.message });
  }
}

/**
 * @throws ConnectError for a client that cannot be served
 * @throws PacketError for an unusable topic of the will
 */
export function checkConnect({ clientId, will, properties }: ConnectPacket): void {
  if (will !== undefined) checkTopics(will.topic, will.properties, ' of the will');
  // [MQTT-3.1.3-9] of 3.1.1
  if (Buffer.byteLength(clientId) > MAX_CLIENT_ID_BYTES) {
    throw new ConnectError('client-id-too-long', { reason: 'client id too long' });
  }
  if (properties?.authenticationMethod !== undefined) {
    throw new ConnectError('authentication-method');
  }
}

/** @throws PacketError for a DISCONNECT that gives an expiry to a session without one [MQTT-3.14.2-2] */
export function checkChangedExpiry(
  expirySeconds: number | undefined,
  request: ConnectRequest | undefined,
): void {
  if (!expirySeconds || request?.sessionExpirySeconds) return;
  throw new PacketError('a session expiry that CONNECT did not have', PROTOCOL_ERROR);
}
