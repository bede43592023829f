import type { Principal } from '../../domain/grants.js';
import {
  BAD_AUTHENTICATION_METHOD,
  BAD_USER_NAME_OR_PASSWORD,
  CLIENT_IDENTIFIER_NOT_VALID,
  NOT_AUTHORIZED,
  QUOTA_EXCEEDED,
  SERVER_BUSY,
  UNSUPPORTED_PROTOCOL_VERSION,
} from '../../mqtt/codes.js';
import type { MqttVersion } from '../../mqtt/packets.js';
import { DENIED_REASONS } from '../../site/access/connection-list.js';

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
  /** Whether the client gets a CONNACK, if its code has one. */
  readonly isAnswered?: boolean;
}

/** Why a CONNECT fails. */
export class ConnectError extends Error {
  readonly code: ConnectErrorCode;
  /** Undefined if no permission is lacking. */
  readonly denied: Principal | undefined;
  readonly #isAnswered: boolean;

  constructor(
    code: ConnectErrorCode,
    { reason, denied, isAnswered = true }: ConnectErrorOptions = {},
  ) {
    super(reason ?? DENIED_REASONS[code]);
    this.code = code;
    this.denied = denied;
    this.#isAnswered = isAnswered;
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
    if (!this.#isAnswered) return null;
    const [before, ofFive] = RETURN_CODES[this.code];
    return version === 5 ? ofFive : before;
  }
}
