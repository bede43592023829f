import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { fault } from '../../domain/faults/faults.js';
import { formatTime } from '../../domain/time.js';
import { GatewayError } from '../../errors.js';
import { ProcessorShare } from '../../network/processor-share.js';
import { problemReply } from '../problem.js';
import { commonHeaders } from '../request-context.js';
import { createHttpListener, type HttpListener } from './listener.js';

const TIMEOUT_MS = 5_000;
/** A load balancer and a monitor need a few; nobody else has business here. */
const MAX_CONNECTIONS = 200;

export interface StandingByOptions {
  readonly host: string;
  readonly port: number;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Why this gateway does not serve, for the operator. */
  readonly reason: () => string;
  readonly version: string;
  readonly log: Logger;
}

/** Answers HTTP for a gateway that stands by: that it lives, that it is not ready, and nothing else. */
export function createStandingByListener(options: StandingByOptions): HttpListener {
  const { reason, version, ...place } = options;
  const { code, stops } = fault('standingBy');
  const faults = [{ code, stops, since: formatTime(Date.now()) }];
  const readiness = { ready: false, version, faults };
  return createHttpListener({
    ...place,
    app: { fetch: (request) => answer(request, reason(), readiness) },
    headersTimeoutMs: TIMEOUT_MS,
    bodyTimeoutMs: TIMEOUT_MS,
    stalledAfterMs: TIMEOUT_MS,
    handshakeTimeoutMs: TIMEOUT_MS,
    maxConnections: MAX_CONNECTIONS,
    maxConnectionsPerAddress: MAX_CONNECTIONS,
    turns: new ProcessorShare(),
    // While standing by there are no alarms to protect and no credentials to check.
    admits: () => true,
    watch: { exceeded: () => undefined },
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
