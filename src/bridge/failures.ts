/**
 * Why a bridge is down: what people see of each kind of failure, when the bridge tries again, and by which codes and
 * errors it knows the kind.
 */
import { ErrorWithReasonCode, ReasonCodes } from 'mqtt';
import type { BridgeFaultName } from '../domain/faults.js';

/** Why the connection to the upstream failed or was given up. */
export interface ConnectionFailure {
  readonly kind: FailureKind;
  /** The upstream's or the network's name for the failure; never an exception's message, which may contain secrets. */
  readonly detail: string;
}

interface Treatment {
  readonly fault: BridgeFaultName;
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
}

/** A short backoff for failures that pass, a long one for those that somebody must fix. */
const PASSING = { firstRetryMs: 500, maxRetryMs: 10_000 };
const NEEDS_FIXING = { firstRetryMs: 5_000, maxRetryMs: 60_000 };

export const FAILURES = {
  unreachable: { fault: 'bridgeUnreachable', ...PASSING },
  closed: { fault: 'bridgeClosed', ...PASSING },
  silent: { fault: 'bridgeSilent', ...PASSING },
  unavailable: { fault: 'bridgeTurnedAway', ...PASSING },
  store: { fault: 'bridgeStoreRefuses', ...PASSING },
  refused: { fault: 'bridgeMessageRefused', ...PASSING },
  tls: { fault: 'bridgeUntrusted', ...NEEDS_FIXING },
  credentials: { fault: 'bridgeCredentialsRefused', ...NEEDS_FIXING },
  'client-id': { fault: 'bridgeClientIdRefused', ...NEEDS_FIXING },
  'taken-over': { fault: 'bridgeClientIdTaken', ...NEEDS_FIXING },
  'packet-too-large': { fault: 'bridgePacketTooLarge', ...NEEDS_FIXING },
  protocol: { fault: 'bridgeVersionRefused', ...NEEDS_FIXING },
} as const satisfies Record<string, Treatment>;

export type FailureKind = keyof typeof FAILURES;

/** CONNACK return codes of MQTT 3.1.1 (3.2.2.3), and reason codes of MQTT 5 (2.4); any other is `closed`. */
const CODES: readonly (readonly [FailureKind, readonly number[]])[] = [
  ['protocol', [1, 129, 130, 132, 147]],
  ['client-id', [2, 133]],
  ['unavailable', [3, 136, 137, 139, 151, 159]],
  ['credentials', [4, 5, 134, 135, 138, 140]],
  ['silent', [141]],
  ['taken-over', [142]],
];

/** Reason codes from here on are failures (MQTT 5, 2.4). */
const FIRST_FAILURE_CODE = 128;
const PACKET_IDENTIFIER_IN_USE = 145;
export const PACKET_TOO_LARGE = 149;
/** Unspecified error, implementation specific error, quota exceeded: about the upstream, and may pass. */
const PASSING_REFUSALS: ReadonlySet<number> = new Set([128, 131, 151]);
/** Not authorised, topic name invalid, packet too large, payload format invalid, retain, QoS. */
const ABOUT_A_MESSAGE: ReadonlySet<number> = new Set([135, 144, PACKET_TOO_LARGE, 153, 154, 155]);

/** The upstream announced a packet that would take too much memory. */
export const TOO_LARGE: ConnectionFailure = {
  kind: 'packet-too-large',
  detail: 'packet too large',
};

/** A return or reason code in words. */
export function reasonOf(code: number): string {
  const reasons: Readonly<Record<number, string>> = ReasonCodes;
  return reasons[code] || `reason code ${code}`;
}

/** The meaning of a return or reason code in CONNACK or DISCONNECT. */
export function failureOfCode(code: number): ConnectionFailure {
  const [kind = 'closed'] = CODES.find(([, codes]) => codes.includes(code)) ?? [];
  return { kind, detail: reasonOf(code) };
}

/** Whether a reason code is a failure (MQTT 5, 2.4); MQTT 3.1.1 has only 0. */
export function isFailure(code: number): boolean {
  return code >= FIRST_FAILURE_CODE;
}

/**
 * The meaning of a refusal in PUBACK or PUBREC (MQTT 5, 3.4.2.1) after which the message is sent again on the next
 * connection; undefined for one that makes a dead letter: the message would fail again, and nothing after it would ever
 * be sent. "Packet identifier in use" says nothing about the message.
 */
export function passingRefusal(code: number): ConnectionFailure | undefined {
  if (PASSING_REFUSALS.has(code)) return { kind: 'refused', detail: reasonOf(code) };
  return code === PACKET_IDENTIFIER_IN_USE ? failureOfCode(code) : undefined;
}

/** Whether a DISCONNECT with this reason code (MQTT 5, 3.14.2.1) may be the answer to a message. */
export function mayBeAboutMessage(code: number): boolean {
  return ABOUT_A_MESSAGE.has(code);
}

const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$)/;
/** The other certificate errors of OpenSSL contain one of these words. */
const CERTIFICATE_CODE = /CERT|CRL|ISSUER|HOSTNAME/;
/** From the WebSocket library, for a frame over its `maxPayload`. */
const FRAME_TOO_LARGE_CODE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
/** The upstream closed an open connection; with unread data in its socket, it sends a RST. */
const HANG_UP_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** The meaning of an error of the connection. */
export function failureOfError(error: unknown): ConnectionFailure {
  // From mqtt.js itself, about a packet from the upstream.
  if (error instanceof ErrorWithReasonCode) {
    return error.code === PACKET_TOO_LARGE ? TOO_LARGE : failureOfCode(error.code);
  }
  const isTimeout = error instanceof Error && /timeout/i.test(error.message);
  if (isTimeout) return { kind: 'silent', detail: 'no answer in time' };
  const code = codeOf(error);
  if (code === FRAME_TOO_LARGE_CODE) return TOO_LARGE;
  if (HANG_UP_CODES.has(code)) return { kind: 'closed', detail: code };
  const isTls = TLS_CODE.test(code) || CERTIFICATE_CODE.test(code);
  return { kind: isTls ? 'tls' : 'unreachable', detail: code };
}

/** A certificate or key could not be read, or is none. */
export function failureOfFile(error: unknown): ConnectionFailure {
  return { kind: 'tls', detail: codeOf(error) };
}

/** The error's code from the system or OpenSSL. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

/** The backoff after this many failed attempts, with jitter down to half: many gateways lose one upstream at once. */
export function retryDelayMs(kind: FailureKind, failedAttempts: number, random: number): number {
  const { firstRetryMs, maxRetryMs } = FAILURES[kind];
  const longest = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failedAttempts - 1, 16));
  return longest * (0.5 + random / 2);
}
