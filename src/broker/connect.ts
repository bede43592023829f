/** A CONNECT: what it asks for, what CONNACK says, and why it is refused. */
import { randomUUID } from 'node:crypto';
import type { Session } from '../delivery/sessions/session.js';
import type { Principal } from '../domain/grants.js';
import { deviceTopic } from '../domain/topics.js';
import {
  BAD_AUTHENTICATION_METHOD,
  BAD_USER_NAME_OR_PASSWORD,
  CLIENT_IDENTIFIER_NOT_VALID,
  NORMAL,
  NOT_AUTHORIZED,
  PACKET_TOO_LARGE,
  PacketError,
  PROTOCOL_ERROR,
  QUOTA_EXCEEDED,
  type Refusal,
  SERVER_BUSY,
  UNSUPPORTED_PROTOCOL_VERSION,
} from '../mqtt/codes.js';
import { checkTopics, decodeConnect, UnknownVersionError, versionOf } from '../mqtt/decode.js';
import { encodeConnack, encodeDisconnect } from '../mqtt/encode.js';
import type { ConnectPacket, MqttVersion } from '../mqtt/packets.js';
import type { Properties } from '../mqtt/properties.js';
import { DENIED_REASONS, type MqttVersionName } from './connection-list.js';

const MAX_CLIENT_ID_BYTES = 256;
const MAX_RECEIVED = 65_535;
/** The longest packet there is (MQTT 5, 2.1.4). */
const LONGEST_PACKET_BYTES = 268_435_460;
/** How many topics a client may replace by a number; a device has about ten. */
export const MAX_TOPIC_ALIASES = 64;

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

/** The part of a CONNECT that a login needs: the sender's claims, unchecked. */
export interface ConnectRequest {
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
  readonly terms: ClientTerms;
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
  onVersion: (version: MqttVersion) => void,
): ConnectPacket {
  try {
    onVersion(versionOf(bytes));
    return decodeConnect(bytes);
  } catch (error) {
    if (!(error instanceof UnknownVersionError)) throw error;
    throw new ConnectError('unknown-version', { reason: error.message });
  }
}

/** Extracts the request from a CONNECT. */
export function requestOf(packet: ConnectPacket): ConnectRequest {
  const { version, isCleanStart, clientId, properties = {} } = packet;
  // MQTT 5, 3.1.2.11.2: without it, the session ends with the connection.
  const expiry = version === 5 ? (properties.sessionExpirySeconds ?? 0) : undefined;
  const isPersistent = expiry === undefined ? !isCleanStart : expiry > 0;
  // [MQTT-3.1.3-7] of 3.1.1: a persistent session needs an identifier from the client.
  const isNamedByGateway = clientId === '' && (version === 5 || !isPersistent);
  return {
    bytes: packet.bytes,
    clientId: isNamedByGateway ? `auto-${randomUUID()}` : clientId,
    isNamedByGateway,
    username: packet.username,
    isCleanStart,
    isPersistent,
    sessionExpirySeconds: expiry,
    keepAliveSeconds: packet.keepAliveSeconds,
    wantsResponseInformation: properties.requestResponseInformation === 1,
    terms: {
      version,
      receiveMaximum: properties.receiveMaximum ?? MAX_RECEIVED,
      maxPacketBytes: properties.maximumPacketBytes ?? LONGEST_PACKET_BYTES,
      topicAliasMaximum: properties.topicAliasMaximum ?? 0,
      wantsReasons: properties.requestProblemInformation !== 0,
    },
  };
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

/**
 * The CONNACK for an admitted client, with the gateway's limits, and each value that differs from the request.
 *
 * @throws PacketError for a client that takes no packet as large as that [MQTT-3.1.2-24]
 */
export function acceptingConnack(
  request: ConnectRequest,
  { session, principal, keepAliveMs }: Admission,
  maxPacketBytes: number,
): Buffer {
  const { terms } = request;
  const keepAliveSeconds = Math.ceil(keepAliveMs / 1_000);
  const { expirySeconds } = session;
  const needed: Properties = { maximumPacketBytes: maxPacketBytes };
  if (keepAliveSeconds !== request.keepAliveSeconds) {
    needed.serverKeepAliveSeconds = keepAliveSeconds;
  }
  if (request.isNamedByGateway) needed.assignedClientIdentifier = session.clientId;
  if (expirySeconds !== undefined && expirySeconds !== request.sessionExpirySeconds) {
    needed.sessionExpirySeconds = expirySeconds;
  }
  const optional: Properties = { topicAliasMaximum: MAX_TOPIC_ALIASES };
  // A device receives answers on its command topics.
  if (request.wantsResponseInformation && principal.type === 'device') {
    optional.responseInformation = deviceTopic(principal.id, 'commands/');
  }
  for (const properties of [{ ...needed, ...optional }, needed]) {
    const connack = encodeConnack(terms.version, NORMAL, session.isResumed, properties);
    if (connack.length <= terms.maxPacketBytes) return connack;
  }
  throw new PacketError('its maximum packet size has no room for CONNACK', PACKET_TOO_LARGE);
}

/** The part of a login that CONNACK reports. */
interface Admission {
  readonly session: Session;
  readonly principal: Principal;
  readonly keepAliveMs: number;
}

/**
 * The CONNACK for a refused client.
 *
 * @param version undefined if no CONNECT has stated a supported version
 */
export function refusingConnack(
  { reasonCode, reason: reasonString }: Refusal,
  version: MqttVersion = 4,
  terms?: ClientTerms,
): Buffer {
  const told = encodeConnack(version, reasonCode, false, { reasonString });
  return fits(told, terms) ? told : encodeConnack(version, reasonCode);
}

/** The DISCONNECT for an MQTT 5 client. */
export function farewell({ reasonCode, reason: reasonString }: Refusal, terms: ClientTerms) {
  const told = encodeDisconnect(reasonCode, { reasonString });
  return fits(told, terms) ? told : encodeDisconnect(reasonCode);
}

/** Whether the client accepts a packet this large [MQTT-3.2.2-19, MQTT-3.14.2-3]. */
function fits({ length }: Buffer, terms: ClientTerms | undefined): boolean {
  return terms === undefined || length <= terms.maxPacketBytes;
}

/** The codes in CONNACK of 3.1.1 (3.2.2.3), and of MQTT 5 (3.2.2.2); null: closed without a CONNACK. */
const RETURN_CODES = {
  'unknown-version': [1, UNSUPPORTED_PROTOCOL_VERSION],
  'client-id-missing': [2, CLIENT_IDENTIFIER_NOT_VALID],
  'client-id-too-long': [2, CLIENT_IDENTIFIER_NOT_VALID],
  'client-id-reserved': [2, CLIENT_IDENTIFIER_NOT_VALID],
  'too-many-connections': [3, QUOTA_EXCEEDED],
  'gateway-full': [3, SERVER_BUSY],
  'too-many-sessions': [3, QUOTA_EXCEEDED],
  'unknown-user-name': [4, BAD_USER_NAME_OR_PASSWORD],
  'wrong-password': [4, BAD_USER_NAME_OR_PASSWORD],
  'too-many-failed-logins': [4, BAD_USER_NAME_OR_PASSWORD],
  'no-credentials': [5, NOT_AUTHORIZED],
  'certificate-refused': [5, NOT_AUTHORIZED],
  'authentication-method': [null, BAD_AUTHENTICATION_METHOD],
  'connecting-too-fast': [null, null],
  'tls-handshake-failed': [null, null],
  'websocket-frames': [null, null],
  'malformed-connect': [null, null],
  'no-connect': [null, null],
} as const;

export type ConnectErrorCode = keyof typeof RETURN_CODES;

export interface ConnectErrorOptions {
  /** For the log, if it says more than `DENIED_REASONS`. */
  readonly reason?: string;
  /** The owner of a valid credential that lacks a permission. */
  readonly denied?: Principal;
}

/** Why a CONNECT fails. */
export class ConnectError extends Error {
  readonly code: ConnectErrorCode;
  /** Undefined if no permission is lacking. */
  readonly denied: Principal | undefined;

  constructor(code: ConnectErrorCode, { reason, denied }: ConnectErrorOptions = {}) {
    super(reason ?? DENIED_REASONS[code]);
    this.code = code;
    this.denied = denied;
  }

  /** The reason in words. It hides whether the user name or the password is wrong. */
  get told(): string {
    const [, reasonCode] = RETURN_CODES[this.code];
    return reasonCode === BAD_USER_NAME_OR_PASSWORD
      ? 'The user name or the password is wrong.'
      : DENIED_REASONS[this.code];
  }

  /**
   * The code in the CONNACK; null: closed without one.
   *
   * @param version undefined if no CONNECT has stated a supported version
   */
  returnCodeFor(version: MqttVersion | undefined): number | null {
    const [before, ofFive] = RETURN_CODES[this.code];
    return version === 5 ? ofFive : before;
  }
}
