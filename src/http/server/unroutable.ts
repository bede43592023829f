/** Answers to requests that never reach the app, shaped like the app's own. */

import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ErrorCode, GatewayError } from '../../errors.js';
import { type ProblemReply, problemReply } from '../problem.js';
import { commonHeaders } from '../request-context.js';

/** A problem response for a request whose path and id are unknown. */
export function problemResponse(code: ErrorCode, detail: string): Response {
  const { status, headers, body } = reply(code, detail);
  return new Response(body, { status, headers });
}

/** Answers a request that Node's parser rejects, unless the peer is gone. */
export function answerClientError(
  error: object,
  socket: Duplex & { readonly isHead?: boolean },
): void {
  const cause = 'code' in error ? error.code : undefined;
  if (cause === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, headers, body } = replyTo(cause);
  // A HEAD gets no body (RFC 9110, 9.3.2), if an unreadable request shows that it is one.
  const isHead = socket.isHead === true;
  const lines = Object.entries({
    ...headers,
    Date: new Date().toUTCString(),
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${isHead ? '' : body}`,
  );
}

function replyTo(cause: unknown): ProblemReply {
  switch (cause) {
    case 'HPE_HEADER_OVERFLOW':
      return reply('headers-too-large', 'The headers of the request are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return reply('request-timeout', 'The request did not arrive in time.');
    default:
      return reply('invalid-request', 'This is not a well-formed HTTP request.');
  }
}

function reply(code: ErrorCode, detail: string): ProblemReply {
  const requestId = randomUUID();
  const { status, headers, body } = problemReply(
    new GatewayError(code, detail),
    undefined,
    requestId,
  );
  return { status, headers: { ...commonHeaders(requestId), ...headers }, body };
}
