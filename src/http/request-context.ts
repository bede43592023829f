import { randomUUID } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Logger } from 'pino';
import type { Denials } from '../site/access/denials.js';
import { actorOf, requestDetails, subjectOf, whoAsks } from './actor.js';
import type { HttpDependencies } from './dependencies.js';
import { type HttpEnv, pathOf } from './http-env.js';
import { isOwnFailure, problemReply, toGatewayError } from './problem.js';
import { connectionOf } from './server/http-connection.js';

/** An id from the caller or a proxy, for the log: it must not be able to forge a log line. */
const ACCEPTABLE_REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

const EVERY_PATH = '/*';

/** The headers of every response. */
export function commonHeaders(requestId: string): Readonly<Record<string, string>> {
  return {
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  };
}

/**
 * The outermost layer of every request: its id, the headers of every response, and one log line, without
 * query, token or body.
 */
export function requestContext({
  requestDurations,
  log,
  elapsed,
}: Pick<HttpDependencies, 'requestDurations' | 'log' | 'elapsed'>): MiddlewareHandler<HttpEnv> {
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
    const labels = { method: method.toLowerCase(), route: routeOf(c), status };
    requestDurations.observe(labels, durationMs / 1000);
    const who = whoAsks(c);
    if (who.principal !== undefined) {
      const type = c.get('caller') === undefined ? 'device' : 'token';
      connectionOf(c.env.incoming)?.know(`${type}:${who.principal}`);
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
        principal: who.principal,
        address: who.address,
      },
      'http request',
    );
  };
}

/** The path of the route, with its parameters; without a route, the path of the guards, which see every request. */
function routeOf(c: Context<HttpEnv>): string {
  return matchedRoutes(c).findLast(({ path }) => path !== EVERY_PATH)?.path ?? EVERY_PATH;
}

/**
 * Turns a thrown error into a problem response. Logs the gateway's own failures. Every permission denied
 * to a caller with a credential goes to the audit trail, wherever it was denied.
 */
export function errorResponder(
  log: Logger,
  denials: Denials,
): (thrown: Error, c: Context<HttpEnv>) => Response {
  return (thrown, c) => {
    const error = toGatewayError(thrown);
    if (error.code === 'forbidden' && showsCredential(c)) {
      denials.addDeniedPermission(actorOf(c), subjectOf(c), requestDetails(c));
    }
    const requestId = c.get('requestId');
    if (isOwnFailure(error))
      log.error({ ...whoAsks(c), requestId, err: error }, 'failed to answer an http request');
    const options = { challenge: c.get('challenge') };
    const { status, headers, body } = problemReply(error, pathOf(c), requestId, options);
    return c.body(body, status, headers);
  };
}

/**
 * Whether the request has a valid token or secret, or at least the signature of a URL. Anybody can ask
 * for a recording without a signature: records of that would say nothing and have no end.
 */
function showsCredential(c: Context<HttpEnv>): boolean {
  return actorOf(c).type !== 'anonymous' || c.req.query('signature') !== undefined;
}
