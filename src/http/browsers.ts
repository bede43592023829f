/** Response headers for browsers: who may call the interface, and that its host name needs HTTPS. */

import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import type { HttpEnv } from './http-env.js';
import { connectionOf } from './server/http-connection.js';

/** Short: it applies to every port of the host name, including the gateway's plaintext port. */
const HSTS_SECONDS = 24 * 3600;
const PREFLIGHT_SECONDS = 600;

/** Lets web applications of these origins call the interface (Fetch, CORS protocol), and no others. */
export function crossOrigin(allowedOrigins: readonly string[]): MiddlewareHandler<HttpEnv> {
  const allowOrigin = cors({
    origin: (origin) => (allowedOrigins.includes(origin) ? origin : null),
    allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowHeaders: [
      'Accept',
      'Authorization',
      'Content-Type',
      'If-Match',
      'If-None-Match',
      'Last-Event-ID',
      'X-Request-Id',
    ],
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

/** Tells browsers that reach the public name over HTTPS to keep using HTTPS (RFC 6797). */
export function strictTransport(publicUrl: string | undefined): MiddlewareHandler<HttpEnv> {
  const isPublic = publicUrl?.startsWith('https:') === true;
  return async (c, next) => {
    if (isPublic && connectionOf(c.env.incoming)?.encrypted === true) {
      c.header('Strict-Transport-Security', `max-age=${HSTS_SECONDS}`);
    }
    await next();
  };
}
