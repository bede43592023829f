import { createRoute, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { isLoopbackHost, plainAddress } from '../../domain/addresses.js';
import type { Metrics } from '../dependencies.js';
import { OPTIONAL_SECURITY, problems } from '../documents/openapi.js';
import type { HttpApp, HttpEnv } from '../http-env.js';

const TEXT = 'text/plain';
const textSchema = z.string().openapi({ example: 'gateway_faults 0\n' });

export interface MetricsRouteOptions {
  readonly metrics: Metrics;
  /** Whether every address may read the metrics without a token. */
  readonly isOpen: boolean;
  /** Whether the address never needs a token: loopback (docs/reference/contract.md, 2), unless behind a proxy. */
  readonly isTrusted: (address: string) => boolean;
  /** Guards for all other requests: the administrator's token. */
  readonly guards: readonly [MiddlewareHandler<HttpEnv>, MiddlewareHandler<HttpEnv>];
}

/** `/metrics` in the Prometheus text format. */
export function registerMetrics(app: HttpApp, options: MetricsRouteOptions): void {
  const { metrics, isOpen, isTrusted, guards } = options;
  const unlessOpen = (guard: MiddlewareHandler<HttpEnv>): MiddlewareHandler<HttpEnv> => {
    return (c, next) => {
      const address = plainAddress(c.env.incoming.socket.remoteAddress);
      // A page of another site may point its own name here (DNS rebinding), and make a browser on this machine ask.
      const isLocal = isTrusted(address) && isLoopbackHost(new URL(c.req.url).hostname);
      return isOpen || isLocal ? next() : guard(c, next);
    };
  };
  const [authenticate, admin] = guards;
  const getMetrics = createRoute({
    method: 'get',
    path: '/metrics',
    operationId: 'getMetrics',
    summary: 'Counters and gauges for Prometheus; from another machine for administrators only',
    tags: ['Operation'],
    security: OPTIONAL_SECURITY,
    middleware: [unlessOpen(authenticate), unlessOpen(admin)],
    responses: {
      200: { description: 'The metrics.', content: { [TEXT]: { schema: textSchema } } },
      ...problems.granted,
    },
  });
  app.openapi(getMetrics, async (c) =>
    c.text(await metrics.metrics(), 200, { 'Content-Type': metrics.contentType }),
  );
}
