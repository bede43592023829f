/**
 * Problem details (RFC 9457), the shape of every failure; made only here.
 *
 * A failure of a route, and one of a request that reaches no route because Node cannot read it, look the same.
 */

import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { z } from 'zod';
import { ERRORS, type ErrorCode, type FieldFault, GatewayError } from '../errors.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

const TYPE_PREFIX = 'urn:problem-type:care-home-gateway:';
/** Long enough for the embedded store to restart. */
const RETRY_AFTER_MS = 2_000;
const SILENT_DETAIL = 'The gateway failed to answer this request; its log says more.';

export const Problem = z
  .object({
    type: z.string().meta({ examples: [`${TYPE_PREFIX}device-not-found`] }),
    title: z.string().meta({ examples: ['Device not found'] }),
    status: z.int(),
    detail: z.string(),
    instance: z.string().optional().meta({ description: 'The path of the request, if readable.' }),
    code: z.string().meta({ description: 'Stable, kebab-case.', examples: ['device-not-found'] }),
    requestId: z.string().meta({ description: 'The value of `X-Request-Id`.' }),
    errors: z
      .array(
        z.object({
          path: z.string().meta({
            description: 'Dotted; empty for the request or its body as a whole.',
            examples: ['grants.0.role'],
          }),
          message: z.string(),
        }),
      )
      .min(1)
      .optional()
      .meta({ description: 'The faults of the input; present with status 400 only.' }),
  })
  .meta({ id: 'Problem' });

/** A problem ready to be written, to a response of the app or straight to a socket. */
export interface ProblemReply {
  readonly status: ContentfulStatusCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface ProblemOptions {
  /** How to authenticate, for a 401 (RFC 9110, 11.6.1); by default with an access token. */
  readonly challenge?: string | undefined;
  /** Members of this kind of problem only (RFC 9457, 3.2). */
  readonly extension?: Readonly<Record<string, unknown>>;
}

/** The headers of every response. */
export function commonHeaders(requestId: string): Readonly<Record<string, string>> {
  return {
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  };
}

/**
 * Renders a failure.
 *
 * @param instance the path of the request, undefined when it is unreadable
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
    ...(status === 400 && { errors: faultsOf(error) }),
    ...extension,
  };
  const retryAfterSeconds = Math.ceil((error.retryAfterMs ?? RETRY_AFTER_MS) / 1000);
  const headers = {
    'Content-Type': PROBLEM_MEDIA_TYPE,
    ...(status === 401 && { 'WWW-Authenticate': challenge }),
    // RFC 9110, 15.5.22. Without `close`, Node would keep a connection that the client asked to close.
    ...(status === 426 && { Upgrade: 'websocket', Connection: 'close, Upgrade' }),
    ...((status === 503 || status === 429) && { 'Retry-After': String(retryAfterSeconds) }),
  };
  return { status, headers, body: JSON.stringify(problem) };
}

/** The faults of the input (contract 2); if none are given, one for the whole request. */
function faultsOf({ faults, detail }: GatewayError): readonly FieldFault[] {
  return faults.length > 0 ? faults : [{ path: '', message: detail }];
}

/** The caller's error for a thrown value; an unforeseen one is `internal-error`. */
export function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown;
  return new GatewayError('internal-error', SILENT_DETAIL, { cause: thrown });
}

/** Whether the failure is the gateway's own, so that its operator must see it. */
export function isOwnFailure(error: GatewayError): boolean {
  return ERRORS[error.code].status >= 500;
}

/** An `invalid-request` with its faults. */
export function invalidRequest(faults: readonly FieldFault[]): GatewayError {
  return new GatewayError('invalid-request', 'The request is invalid: see `errors`.', { faults });
}

/** A problem response to a request whose path and id are unknown. */
export function unroutableResponse(code: ErrorCode, detail: string): Response {
  const { status, headers, body } = unroutableReply(code, detail);
  return new Response(body, { status, headers });
}

function unroutableReply(code: ErrorCode, detail: string): ProblemReply {
  const requestId = randomUUID();
  const reply = problemReply(new GatewayError(code, detail), undefined, requestId);
  return { ...reply, headers: { ...commonHeaders(requestId), ...reply.headers } };
}

/** The failures of Node's parser; any other request is malformed. */
const UNREADABLE: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'The headers of the request are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The request did not arrive in time.'],
};

/**
 * Answers a request that Node's parser rejects, unless the peer is gone.
 *
 * @param isHead a HEAD gets no body (RFC 9110, 9.3.2)
 */
export function answerUnreadable(error: object, socket: Duplex, isHead = false): void {
  const cause = 'code' in error ? String(error.code) : '';
  if (cause === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [code, detail] = UNREADABLE[cause] ?? [
    'invalid-request',
    'This is not a well-formed HTTP request.',
  ];
  const { status, headers, body } = unroutableReply(code, detail);
  const lines = Object.entries({
    ...headers,
    Date: new Date().toUTCString(),
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`;
  socket.end(isHead ? head : head + body);
}
