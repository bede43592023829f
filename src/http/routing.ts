import type { MiddlewareHandler } from 'hono';
import { GatewayError } from '../errors.js';
import type { HttpApp, HttpEnv } from './http-env.js';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Refuses what cannot be a request for any route: broken percent-encoding or UTF-8 in path or query,
 * which the router would otherwise pass on undecoded; HTTP/1.1 without Host, and whatever has two of
 * them, for which the gateway and a proxy before it might not take the same one (RFC 9112, 3.2).
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
 * Answers what no route takes: 404, 405 and OPTIONS, before authentication, because `/openapi.json`
 * tells everybody which routes there are.
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

/** From the router itself, so that no second list of routes can fall behind the first. */
function allowedMethods(app: HttpApp, path: string): string[] {
  const taken = METHODS.filter((method) => {
    const [handlers] = app.router.match(method, path);
    return handlers.some(([[, route]]) => route.method !== 'ALL');
  });
  if (taken.length === 0) return [];
  return [...taken, ...(taken.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
}
