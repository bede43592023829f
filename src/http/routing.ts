import type { MiddlewareHandler } from 'hono';
import { GatewayError } from '../errors.js';
import type { HttpApp, HttpEnv } from './http-env.js';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Rejects requests that fit no route at all.
 *
 * The router would pass on broken percent-encoding or UTF-8 in path or query undecoded. HTTP/1.1 needs a
 * Host; given two, the gateway and a proxy in front might choose different ones (RFC 9112, 3.2).
 */
export function wellFormedRequest(): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const { incoming } = c.env;
    const hosts = incoming.headersDistinct['host'] ?? [];
    if (hosts.length > 1 || (incoming.httpVersion === '1.1' && hosts.length === 0)) {
      throw new GatewayError('invalid-request', 'One Host header is required.');
    }
    try {
      decodeURIComponent(c.req.url);
    } catch {
      throw new GatewayError('invalid-request', 'The path or query is not well encoded.');
    }
    await next();
  };
}

/**
 * Answers 404, 405 and OPTIONS, before authentication.
 *
 * `/openapi.json` tells everybody the routes anyway.
 */
export function knownRoute(app: HttpApp): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const allowed = allowedMethods(app, c.req.path);
    if (allowed.length === 0) throw new GatewayError('not-found', 'There is nothing at this path.');
    const { method } = c.req;
    if (allowed.includes(method) && method !== 'OPTIONS') return next();
    c.header('Allow', allowed.join(', '));
    if (method === 'OPTIONS') return c.body(null, 204);
    throw new GatewayError('method-not-allowed', 'This path does not take this method.');
  };
}

/** The methods of a path, from the router itself: a second list could get out of date. */
function allowedMethods(app: HttpApp, path: string): string[] {
  const matching = METHODS.flatMap((method) => {
    const [handlers] = app.router.match(method, path);
    return handlers.flatMap(([[, route]]) => (route.method === 'ALL' ? [] : [route]));
  });
  // A path that is a route itself is not an id in another route.
  const own = matching.filter((route) => route.path === path);
  const routes = own.length > 0 ? own : matching;
  const taken = METHODS.filter((method) => routes.some((route) => route.method === method));
  if (taken.length === 0) return [];
  return [...taken, ...(taken.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
}
