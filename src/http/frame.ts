/**
 * The frame of every request: its id, the headers of every response, one log line, and a problem document for every
 * failure. What a browser of another origin may do is decided here, too.
 */

import { randomUUID } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { plainAddress } from '../domain/addresses.js';
import { isUuid } from '../domain/ids.js';
import { GatewayError } from '../errors.js';
import type { Actor, AuditEntry, AuditSubject } from '../site/audit-trail.js';
import { commonHeaders, isOwnFailure, problemReply, toGatewayError } from './problem.js';
import { connectionOf } from './server/http-connection.js';
import type { HttpServices } from './services.js';

/** Values of one request. */
export interface HttpEnv {
  Bindings: HttpBindings;
  Variables: {
    requestId: string;
    /** Who has shown a valid credential. */
    principal: { readonly type: 'access-token' | 'device'; readonly id: string } | undefined;
    /** `WWW-Authenticate` of a 401 (RFC 9110, 11.6.1); by default for an access token. */
    challenge: string | undefined;
    /** The path of the route, with its parameters. */
    route: string | undefined;
  };
}

export type HttpApp = Hono<HttpEnv>;
export type HttpContext = Context<HttpEnv>;

/** An id from the caller or a proxy, for the log: it must not be able to forge a log line. */
const ACCEPTABLE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const NO_ROUTE = '/*';
const PREFLIGHT_SECONDS = 600;

/** Puts the frame around all routes that the app gets from now on. */
export function frame(app: HttpApp, services: HttpServices): void {
  app.onError((thrown, c) => problemOf(thrown, c, services));
  app.notFound((c) =>
    problemOf(new GatewayError('not-found', 'There is nothing at this path.'), c, services),
  );
  app.use(observed(services));
  app.use(crossOrigin(services.allowedOrigins));
  app.use(wellFormed);
}

function observed({ requestDurations, log, elapsed }: HttpServices): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const startedAtMs = elapsed();
    const sentId = c.req.header('X-Request-Id') ?? '';
    // Never the caller's own id: in the audit trail, it could make two requests look like one.
    const requestId = randomUUID();
    c.set('requestId', requestId);
    for (const [name, value] of Object.entries(commonHeaders(requestId))) c.header(name, value);
    await next();
    const durationMs = elapsed() - startedAtMs;
    const [{ method }, { status }] = [c.req, c.res];
    const labels = { method: method.toLowerCase(), route: c.get('route') ?? NO_ROUTE, status };
    requestDurations.observe(labels, durationMs / 1000);
    const principal = c.get('principal');
    if (principal !== undefined) {
      const type = principal.type === 'device' ? 'device' : 'token';
      connectionOf(c.env.incoming)?.know(`${type}:${principal.id}`);
    }
    // Monitoring and listings arrive every second; a change is worth a line by default.
    const level = method === 'GET' || method === 'HEAD' ? 'debug' : 'info';
    log[level](
      {
        requestId,
        clientRequestId: ACCEPTABLE_REQUEST_ID.test(sentId) ? sentId : undefined,
        method,
        path: pathOf(c),
        status,
        durationMs: Math.round(durationMs),
        ...whoAsks(c),
      },
      'http request',
    );
  };
}

/** Lets web applications of these origins call the interface (Fetch, CORS protocol), and no others. */
function crossOrigin(allowedOrigins: readonly string[]): MiddlewareHandler<HttpEnv> {
  const allowOrigin = cors({
    origin: (origin) => (allowedOrigins.includes(origin) ? origin : null),
    allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: ['Accept', 'Authorization', 'Content-Type', 'If-Match', 'If-None-Match'].concat(
      'Last-Event-ID',
      'X-Request-Id',
    ),
    exposeHeaders: ['Allow', 'ETag', 'Location', 'Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
    maxAge: PREFLIGHT_SECONDS,
  });
  return async (c, next) => {
    if (allowedOrigins.length === 0) return next();
    if (allowedOrigins.includes(c.req.header('Origin') ?? '')) return allowOrigin(c, next);
    c.header('Vary', 'Origin', { append: true });
    return next();
  };
}

/**
 * Rejects what fits no route: HTTP/1.1 needs a Host, and given two, the gateway and a proxy in front of it might choose
 * different ones (RFC 9112, 3.2); the router would pass on broken percent-encoding undecoded.
 */
const wellFormed: MiddlewareHandler<HttpEnv> = async (c, next) => {
  const { headersDistinct, httpVersion } = c.env.incoming;
  const hosts = headersDistinct['host'] ?? [];
  if (hosts.length > 1 || (httpVersion === '1.1' && hosts.length === 0)) {
    throw new GatewayError('invalid-request', 'One Host header is required.');
  }
  try {
    decodeURIComponent(c.req.url);
  } catch {
    throw new GatewayError('invalid-request', 'The path or query is not well encoded.');
  }
  await next();
};

/**
 * The problem document of a failure. Logs the gateway's own failures, and notes every permission denied to a caller
 * with a credential in the audit trail.
 */
function problemOf(thrown: unknown, c: HttpContext, { log, denials }: HttpServices): Response {
  const error = toGatewayError(thrown);
  const requestId = c.get('requestId');
  if (error.code === 'forbidden' && hasShownCredential(c)) {
    denials.addDeniedPermission(actorOf(c), subjectOf(c), requestDetails(c));
  }
  if (isOwnFailure(error)) {
    log.error({ ...whoAsks(c), requestId, err: error }, 'failed to answer an http request');
  }
  const options = { challenge: c.get('challenge') };
  const { status, headers, body } = problemReply(error, pathOf(c), requestId, options);
  return c.body(body, status, headers);
}

/**
 * Whether the request has a valid token or secret, or at least the signature of a URL. Anybody can ask for a recording
 * without a signature: records of that would have no end.
 */
function hasShownCredential(c: HttpContext): boolean {
  return c.get('principal') !== undefined || c.req.query('signature') !== undefined;
}

/** The path of a request as sent, without the query. */
export function pathOf(c: HttpContext): string {
  return new URL(c.req.url).pathname;
}

/** The client's address; undefined when the connection has already ended. */
export function addressOf(c: HttpContext): string | undefined {
  return plainAddress(c.env.incoming.socket.remoteAddress);
}

/** The caller, for the log: the principal, and the address of the connection. */
export function whoAsks(c: HttpContext): { principal: string | undefined; address: string } {
  return { principal: c.get('principal')?.id, address: addressOf(c) ?? 'unknown' };
}

/** The actor of this request, as the audit trail names it. */
export function actorOf(c: HttpContext): Actor {
  const { type, id } = c.get('principal') ?? { type: 'anonymous' as const, id: null };
  return { type, id, address: addressOf(c) ?? null, requestId: c.get('requestId') };
}

/** The subject of a denied request, by the ids in its path. */
function subjectOf(c: HttpContext): AuditSubject {
  const parts = pathOf(c).toLowerCase().split('/');
  const locationId = parts[1] === 'care-homes' ? parts[2] : undefined;
  return {
    locationId: locationId !== undefined && isUuid(locationId) ? locationId : null,
    resourceId: parts.findLast(isUuid) ?? null,
  };
}

/** Method and path of a denied request. */
export function requestDetails(c: HttpContext): AuditEntry['details'] {
  return { method: c.req.method, path: pathOf(c) };
}
