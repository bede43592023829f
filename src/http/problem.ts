/** Problem details (RFC 9457), the shape of every failure; made only here. */

import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type ErrorCode, type FieldFault, GatewayError } from '../errors.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

interface ProblemKind {
  readonly status: ContentfulStatusCode;
  readonly title: string;
}

/** The one table from code to status and title. */
const PROBLEMS: Readonly<Record<ErrorCode, ProblemKind>> = {
  'invalid-request': { status: 400, title: 'Invalid request' },
  'invalid-custom-data': { status: 400, title: 'Invalid custom data' },
  'invalid-cursor': { status: 400, title: 'Invalid cursor' },
  unauthenticated: { status: 401, title: 'Not authenticated' },
  forbidden: { status: 403, title: 'Not permitted' },
  'not-found': { status: 404, title: 'Not found' },
  'location-not-found': { status: 404, title: 'Location not found' },
  'device-not-found': { status: 404, title: 'Device not found' },
  'room-not-found': { status: 404, title: 'Room not found' },
  'group-not-found': { status: 404, title: 'Group not found' },
  'access-token-not-found': { status: 404, title: 'Access token not found' },
  'bridge-not-found': { status: 404, title: 'Bridge not found' },
  'loss-not-found': { status: 404, title: 'Loss not found' },
  'footage-not-found': { status: 404, title: 'Footage not found' },
  'alarm-not-found': { status: 404, title: 'Alarm not found' },
  'method-not-allowed': { status: 405, title: 'Method not allowed' },
  'device-id-in-use': { status: 409, title: 'Device id in use' },
  'location-has-devices': { status: 409, title: 'Location has devices' },
  'room-has-devices': { status: 409, title: 'Room has devices' },
  'group-has-rooms': { status: 409, title: 'Group has rooms' },
  'alarm-resolved': { status: 409, title: 'Alarm resolved' },
  'footage-already-uploaded': { status: 409, title: 'Footage already uploaded' },
  'body-too-large': { status: 413, title: 'Body too large' },
  'unsupported-media-type': { status: 415, title: 'Unsupported media type' },
  'range-not-satisfiable': { status: 416, title: 'Range not satisfiable' },
  'upgrade-required': { status: 426, title: 'Upgrade required' },
  'headers-too-large': { status: 431, title: 'Headers too large' },
  'request-timeout': { status: 408, title: 'Request timeout' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'store-unavailable': { status: 503, title: 'Store unavailable' },
  'not-ready': { status: 503, title: 'Not ready' },
  'standing-by': { status: 503, title: 'Standing by' },
  'insufficient-storage': { status: 507, title: 'Insufficient storage' },
  'invalid-config': { status: 500, title: 'Internal error' },
  'start-failed': { status: 500, title: 'Internal error' },
  'internal-error': { status: 500, title: 'Internal error' },
};

const TYPE_PREFIX = 'urn:problem-type:care-home-gateway:';
/** Long enough for the embedded store to restart. */
const RETRY_AFTER_SECONDS = 2;
const SILENT_DETAIL = 'The gateway failed to answer this request; its log says more.';

/** A problem ready to be written, to a response of the app or straight to a socket. */
export interface ProblemReply {
  readonly status: ProblemKind['status'];
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
  const { status, title } = PROBLEMS[error.code];
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
  // Without `close`, Node.js would keep the connection of a client that asked for its end.
  if (status === 426)
    Object.assign(headers, { Upgrade: 'websocket', Connection: 'close, Upgrade' });
  if (status === 503) headers['Retry-After'] = String(RETRY_AFTER_SECONDS);
  return { status, headers, body: JSON.stringify(problem) };
}

/** The faults of the input (CONTRACT 2); without particular ones, of the request as a whole. */
function faultsOf({ faults, detail }: GatewayError): readonly FieldFault[] {
  return faults.length > 0 ? faults : [{ path: '', message: detail }];
}

/** The caller's error for a thrown value; an unforeseen one is `internal-error`. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  if (thrown instanceof HTTPException && thrown.status === 415) {
    return new GatewayError('unsupported-media-type', 'The content type is not supported here.');
  }
  if (thrown instanceof HTTPException && thrown.status === 400) {
    return new GatewayError('invalid-request', 'The request is malformed.');
  }
  return new GatewayError('internal-error', SILENT_DETAIL, { cause: thrown });
}

/** An example of the problems with this code. */
export function exampleProblem(code: ErrorCode, instance: string) {
  const { status, title } = PROBLEMS[code];
  return {
    ...{ type: `${TYPE_PREFIX}${code}`, title, status, detail: `${title}.`, instance, code },
    requestId: '7b1d52c0-4f3e-4a86-9d0b-c6e8f1a2935d',
    ...(status === 400 && { errors: [{ path: 'name', message: 'must be a string' }] }),
  };
}

/** An example for each status of problems. */
export function exampleProblems(): ReturnType<typeof exampleProblem>[] {
  return Object.entries(PROBLEMS).flatMap(([code, { status }], index, all) => {
    const isFirst = all.findIndex(([, other]) => other.status === status) === index;
    return isFirst && isErrorCode(code) ? [exampleProblem(code, '/care-homes')] : [];
  });
}

function isErrorCode(text: string): text is ErrorCode {
  return text in PROBLEMS;
}

/** Whether the failure is the gateway's own, and so for its operator to see. */
export function isOwnFailure(error: GatewayError): boolean {
  return PROBLEMS[error.code].status >= 500;
}

/** An `invalid-request` with its faults. */
export function invalidRequest(faults: readonly FieldFault[]): GatewayError {
  return new GatewayError('invalid-request', 'The request is invalid: see `errors`.', { faults });
}
