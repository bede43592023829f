/** Problem details (RFC 9457), the shape of every failure; made only here. */

import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { ERRORS, type ErrorCode, type FieldFault, GatewayError } from '../errors.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

const TYPE_PREFIX = 'urn:problem-type:care-home-gateway:';
/** Long enough for the embedded store to restart. */
const RETRY_AFTER_MS = 2_000;
const SILENT_DETAIL = 'The gateway failed to answer this request; its log says more.';

/** A problem ready to be written, to a response of the app or straight to a socket. */
export interface ProblemReply {
  readonly status: ContentfulStatusCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ProblemOptions {
  readonly challenge?: string | undefined;
  readonly extension?: Readonly<Record<string, unknown>>;
}

/**
 * Renders a failure.
 *
 * @param instance the path of the request, undefined when it is unreadable
 * @param challenge how to authenticate, for a 401 (RFC 9110, 11.6.1)
 * @param extension members of this kind of problem only (RFC 9457, 3.2)
 */
export function problemReply(
  error: GatewayError,
  instance: string | undefined,
  requestId: string,
  { challenge = 'Bearer', extension = {} }: ProblemOptions = {},
): ProblemReply {
  const { status, title } = ERRORS[error.code];
  const problem = {
    type: `${TYPE_PREFIX}${error.code}`,
    title,
    status,
    detail: status === 500 ? SILENT_DETAIL : error.detail,
    instance,
    code: error.code,
    requestId,
    ...(status === 400 ? { errors: faultsOf(error) } : {}),
    ...extension,
  };
  const headers: Record<string, string> = { 'Content-Type': PROBLEM_MEDIA_TYPE };
  if (status === 401) headers['WWW-Authenticate'] = challenge;
  // RFC 9110, 15.5.22
  // Without `close`, Node.js would keep a connection that the client asked to close.
  if (status === 426)
    Object.assign(headers, { Upgrade: 'websocket', Connection: 'close, Upgrade' });
  if (status === 503 || status === 429) {
    headers['Retry-After'] = String(Math.ceil((error.retryAfterMs ?? RETRY_AFTER_MS) / 1000));
  }
  return { status, headers, body: JSON.stringify(problem) };
}

/** The faults of the input (docs/reference/contract.md, 2); if none are given, one for the whole request. */
function faultsOf({ faults, detail }: GatewayError): readonly FieldFault[] {
  return faults.length > 0 ? faults : [{ path: '', message: detail }];
}

/** The caller's error for a thrown value; an unforeseen one is `internal-error`. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal-error', SILENT_DETAIL, { cause: thrown });
}

/** An example of the problems with this code. */
export function exampleProblem(code: ErrorCode, instance: string) {
  const { status, title } = ERRORS[code];
  return {
    type: `${TYPE_PREFIX}${code}`,
    title,
    status,
    detail: `${title}.`,
    instance,
    code,
    requestId: '7b1d52c0-4f3e-4a86-9d0b-c6e8f1a2935d',
    ...(status === 400 && { errors: [{ path: 'name', message: 'must be a string' }] }),
  };
}

/** An example for each status of problems. */
export function exampleProblems(): ReturnType<typeof exampleProblem>[] {
  return Object.entries(ERRORS).flatMap(([code, { status }], index, all) => {
    const isFirst = all.findIndex(([, other]) => other.status === status) === index;
    return isFirst && isErrorCode(code) ? [exampleProblem(code, '/care-homes')] : [];
  });
}

function isErrorCode(text: string): text is ErrorCode {
  return text in ERRORS;
}

/** Whether the failure is the gateway's own, so its operator must see it. */
export function isOwnFailure(error: GatewayError): boolean {
  return ERRORS[error.code].status >= 500;
}

/** An `invalid-request` with its faults. */
export function invalidRequest(faults: readonly FieldFault[]): GatewayError {
  return new GatewayError('invalid-request', 'The request is invalid: see `errors`.', { faults });
}
