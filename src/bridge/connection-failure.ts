import { ErrorWithReasonCode, ReasonCodes } from 'mqtt';

/** Why there is no connection to the upstream, or why it was given up. */
export interface ConnectionFailure {
  readonly kind: FailureKind;
  /** What the upstream or the network called it; never an exception's message. */
  readonly detail: string;
}

interface Treatment {
  /** For whoever reads `gateway/status`. */
  readonly words: string;
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
}

/** What passes by itself is tried again soon; what somebody must mend first, not so often. */
const PASSING = { firstRetryMs: 500, maxRetryMs: 10_000 };
const TO_BE_MENDED = { firstRetryMs: 5_000, maxRetryMs: 60_000 };

/** Retry policy and words for each kind of failure. */
export const FAILURES = {
  unreachable: { words: 'the upstream cannot be reached', ...PASSING },
  closed: { words: 'the upstream has closed the connection', ...PASSING },
  silent: { words: 'the upstream does not answer', ...PASSING },
  unavailable: { words: 'the upstream takes no connections now', ...PASSING },
  store: { words: 'the store cannot take what comes from the upstream', ...PASSING },
  tls: { words: 'no trusted TLS connection to the upstream', ...TO_BE_MENDED },
  credentials: { words: 'the upstream refuses the credentials', ...TO_BE_MENDED },
  'client-id': { words: 'the upstream refuses the client id', ...TO_BE_MENDED },
  'taken-over': { words: 'another client uses the client id of the bridge', ...TO_BE_MENDED },
  protocol: { words: 'the upstream does not speak this version of MQTT', ...TO_BE_MENDED },
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
  151: 'unavailable',
  159: 'unavailable',
};

/** Reason codes from here on are failures (MQTT 5, 2.4). */
const FIRST_REFUSAL = 128;

/** A return or reason code in words. */
export function reasonOf(code: number): string {
  const reasons: Readonly<Record<number, string>> = ReasonCodes;
  return reasons[code] || `reason code ${code}`;
}

/** A refusal, or the end of a connection, with a return or reason code. */
export function failureOfCode(code: number): ConnectionFailure {
  return { kind: BY_CODE[code] ?? 'closed', detail: reasonOf(code) };
}

const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|ERR_OSSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO$)/;
/** OpenSSL's other verdicts on a certificate carry its name. */
const CERTIFICATE_CODE = /CERT|CRL|ISSUER|HOSTNAME/;

/** The other side has closed a connection that was there: a broker that reads no more sends RST. */
const HANG_UP_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/** What an error of the connection means. */
export function failureOfError(error: unknown): ConnectionFailure {
  if (error instanceof ErrorWithReasonCode) return failureOfCode(error.code);
  const isTimeout = error instanceof Error && /timeout/i.test(error.message);
  if (isTimeout) return { kind: 'silent', detail: 'no answer in time' };
  const code = codeOf(error);
  if (HANG_UP_CODES.has(code)) return { kind: 'closed', detail: code };
  const isTls = TLS_CODE.test(code) || CERTIFICATE_CODE.test(code);
  return { kind: isTls ? 'tls' : 'unreachable', detail: code };
}

/** What the system or OpenSSL calls the error; its message may say more than is good. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

const PACKET_IDENTIFIER_IN_USE = 145;
export const PACKET_TOO_LARGE = 149;

/**
 * Whether the upstream will never take the message that it answered with this reason code of a PUBACK
 * or PUBREC (MQTT 5, 3.4.2.1). Of those that refuse, one says nothing of the message; after all others
 * the same message would be refused again, and nothing behind it would ever be sent.
 */
export function isRefusedForGood(code: number): boolean {
  return code >= FIRST_REFUSAL && code !== PACKET_IDENTIFIER_IN_USE;
}

/** Not authorised, topic name invalid, packet too large, payload format invalid, retain, QoS. */
const ABOUT_A_MESSAGE: ReadonlySet<number> = new Set([135, 144, PACKET_TOO_LARGE, 153, 154, 155]);

/** Whether a DISCONNECT with this reason code (MQTT 5, 3.14.2.1) may be the answer to a message. */
export function mayBeAboutMessage(code: number): boolean {
  return ABOUT_A_MESSAGE.has(code);
}

/** How long to wait before the next attempt, after so many failed ones. */
export function retryDelayMs(kind: FailureKind, failedAttempts: number, random: number): number {
  const { firstRetryMs, maxRetryMs } = FAILURES[kind];
  const longest = Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(failedAttempts - 1, 16));
  // Between half of it and all of it: many gateways lose one upstream at the same moment.
  return longest * (0.5 + random / 2);
}
