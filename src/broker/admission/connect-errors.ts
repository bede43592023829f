import type { Principal } from '../../domain/grants.js';
import { DENIED_REASONS } from '../../site/access/connection-list.js';

/** The CONNACK return codes of connect errors (MQTT 3.1.1, 3.2.2.3); null: closed without a CONNACK. */
const RETURN_CODES = {
  'unknown-version': 1,
  'client-id-missing': 2,
  'client-id-too-long': 2,
  'client-id-of-bridge': 2,
  'too-many-connections': 3,
  'gateway-full': 3,
  'too-many-sessions': 3,
  'unknown-user-name': 4,
  'wrong-password': 4,
  'too-many-failed-logins': 4,
  'no-credentials': 5,
  'connecting-too-fast': null,
  'tls-handshake-failed': null,
  'websocket-frames': null,
  'malformed-connect': null,
  'no-connect': null,
} as const;

export type ConnectErrorCode = keyof typeof RETURN_CODES;

export interface ConnectErrorOptions {
  /** For the log, where there is more to say than in `DENIED_REASONS`. */
  readonly reason?: string;
  /** The owner of a valid credential, where a permission is lacking. */
  readonly denied?: Principal;
  /** Whether the client gets a CONNACK where its code has one. */
  readonly isAnswered?: boolean;
}

/** Why a CONNECT fails. */
export class ConnectError extends Error {
  readonly code: ConnectErrorCode;
  /** The code in the CONNACK; null: closed without one. */
  readonly returnCode: number | null;
  /** Undefined where no permission is lacking. */
  readonly denied: Principal | undefined;

  constructor(
    code: ConnectErrorCode,
    { reason, denied, isAnswered = true }: ConnectErrorOptions = {},
  ) {
    super(reason ?? DENIED_REASONS[code]);
    this.code = code;
    this.returnCode = isAnswered ? RETURN_CODES[code] : null;
    this.denied = denied;
  }
}
