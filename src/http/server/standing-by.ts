/** Answers HTTP for a gateway that stands by: that it lives, that it is not ready, and nothing else. */

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { fault } from '../../domain/fault.js';
import { formatTime } from '../../domain/time.js';
import { GatewayError } from '../../errors.js';
import { Circle } from '../../network/circle.js';
import type { ServerCertificate } from '../../network/server-certificate.js';
import { commonHeaders, problemReply } from '../problem.js';
import { HttpListener } from './listener.js';

const TIMEOUT_MS = 5_000;
/** A load balancer and a monitor need a few; nobody else has business here. */
const MAX_CONNECTIONS = 200;

export interface StandingByOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate?: ServerCertificate | undefined;
  /** Why this gateway does not serve, for the operator. */
  readonly reason: () => string;
  readonly version: string;
  readonly log: Logger;
}

/** A listener of its own; nothing is bound before `start`. */
export function createStandingByListener(options: StandingByOptions): HttpListener {
  const { reason, version, ...place } = options;
  const { code, stops } = fault('standingBy');
  const faults = [{ code, stops, since: formatTime(Date.now()) }];
  const readiness = { ready: false, version, faults };
  return new HttpListener({
    ...place,
    app: { fetch: (request) => answer(request, reason(), readiness) },
    timeoutMs: TIMEOUT_MS,
    // While standing by there are no alarms to protect and no credentials to check.
    guard: {
      circle: new Circle(),
      admits: () => true,
      maxConnections: MAX_CONNECTIONS,
      maxConnectionsPerAddress: MAX_CONNECTIONS,
    },
  });
}

function answer(
  request: Request,
  reason: string,
  readiness: Readonly<Record<string, unknown>>,
): Response {
  const { pathname } = new URL(request.url);
  const requestId = randomUUID();
  // No connection outlives standing by.
  const common = { ...commonHeaders(requestId), Connection: 'close' };
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  if (isReading && pathname === '/healthz') {
    return Response.json({ status: 'ok' }, { headers: common });
  }
  const failure = new GatewayError('standing-by', reason);
  const extension = pathname === '/readyz' ? readiness : {};
  const { status, headers, body } = problemReply(failure, pathname, requestId, { extension });
  return new Response(body, { status, headers: { ...common, ...headers } });
}
