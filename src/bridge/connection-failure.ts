import { ErrorWithReasonCode, ReasonCodes } from 'mqtt';
import type { BridgeFaultName } from '../domain/faults.js';

/** Why the connection to the upstream failed or was given up. */
export interface ConnectionFailure {
  readonly kind: FailureKind;
  /** The upstream's or the network's name for the failure; never an exception's message. */
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

/** Retry policy and fault for each kind of failure. */
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

/** CONNACK return codes of MQTT 3.1.1 (3.2.2.3), and reason codes of MQTT 5 (2.4). */
const BY_CODE: Readonly<Record<number, FailureKind>> = {
  1: 'protocol',
  2: 'client-id',
  3: 'unavailable',
  4: 'credentials',
  5: 'credentials',
  129: 'protocol',
  130: 'protocol',
  132: 'protocol',
  133: 'client-id',
  134: 'credentials',
  135: 'credentials',
  136: 'unavailable',
  137: 'unavailable',
  138: 'credentials',
  139: 'unavailable',
  140: 'credentials',
  141: 'silent',
  142: 'taken-over',
  147: 'protocol',
  151: 'unavailable',
  159: 'unavailable',
};

/** Reason codes from here on are failures (MQTT 5, 2.4). */
const FIRST_FAILURE_CODE = 128;

/** A return or reason code in words. */
export function reasonOf(code: number): string {
  const reasons: Readonly<Record<number, string>> = ReasonCodes;
  return reasons[code] || `reason code ${code}`;
}

/** The meaning of a return or reason code in CONNACK, PUBACK or DISCONNECT. */
export function failureOfCode(code: number): ConnectionFailure {
  return { kind: BY_CODE[code] ?? 'closed', detail: reasonOf(code) };
}

const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$)/;
/** The other certificate errors of OpenSSL contain one of these words. */
const CERTIFICATE_CODE = /CERT|CRL|ISSUER|HOSTNAME/;

/** From the WebSocket library, for a frame over its `maxPayload`. */
const FRAME_TOO_LARGE_CODE = 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';

/** The upstream closed an open connection; with unread data in its socket, it sends a RST. */
const HANG_UP_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** The upstream announced a packet that would take too much memory. */
export function tooLarge(): ConnectionFailure {
  return { kind: 'packet-too-large', detail: 'packet too large' };
}

/** The meaning of an error of the connection. */
export function failureOfError(error: unknown): ConnectionFailure {
  // From mqtt.js itself, about a packet from the upstream.
  if (error instanceof ErrorWithReasonCode) {
    return error.code === PACKET_TOO_LARGE ? tooLarge() : failureOfCode(error.code);
  }
  const isTimeout = error instanceof Error && /timeout/i.test(error.message);
  if (isTimeout) return { kind: 'silent', detail: 'no answer in time' };
  const code = codeOf(error);
  if (code === FRAME_TOO_LARGE_CODE) return tooLarge();
  if (HANG_UP_CODES.has(code)) return { kind: 'closed', detail: code };
  const isTls = TLS_CODE.test(code) || CERTIFICATE_CODE.test(code);
  return { kind: isTls ? 'tls' : 'unreachable', detail: code };
}

/** The error's code from the system or OpenSSL; its message may contain secrets. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

/** Whether a reason code is a failure (MQTT 5, 2.4); MQTT 3.1.1 has only 0. */
export function isFailure(code: number): boolean {
  return code >= FIRST_FAILURE_CODE;
}

const PACKET_IDENTIFIER_IN_USE = 145;
export const PACKET_TOO_LARGE = 149;
/** Unspecified error, implementation specific error, quota exceeded: about the upstream, and may pass. */
const PASSING_REFUSALS: ReadonlySet<number> = new Set([128, 131, 151]);

/**
 * Whether a PUBACK or PUBREC with this reason code makes a dead letter (MQTT 5, 3.4.2.1).
 *
 * A passing refusal does not, nor does "packet identifier in use", which says nothing about the message. After any
 * other, the message would fail again, and nothing after it would ever be sent.
 */
export function makesDeadLetter(code: number): boolean {
  return isFailure(code) && code !== PACKET_IDENTIFIER_IN_USE && !PASSING_REFUSALS.has(code);
}

/** The meaning of a PUBACK or PUBREC that makes no dead letter: the message is sent again on the next connection. */
export function refusalOf(code: number): ConnectionFailure {
  return PASSING_REFUSALS.has(code)
    ? { kind: 'refused', detail: reasonOf(code) }
    : failureOfCode(code);
}

/** Not authorised, topic name invalid, packet too large, payload format invalid, retain, QoS. */
const ABOUT_A_MESSAGE: ReadonlySet<number> = new Set([135, 144, PACKET_TOO_LARGE, 153, 154, 155]);

/** Whether a DISCONNECT with this reason code (MQTT 5, 3.14.2.1) may be the answer to a message. */
export function mayBeAboutMessage(code: number): boolean {
  return ABOUT_A_MESSAGE.has(code);
}

/** The backoff after this many failed attempts, with jitter. */
export function retryDelayMs(kind: FailureKind, failedAttempts: number, random: number): number {
  const { firstRetryMs, maxRetryMs } = FAILURES[kind];
  const longest = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failedAttempts - 1, 16));
  // Jitter down to half: many gateways lose one upstream at the same moment.
  return longest * (0.5 + random / 2);
}
