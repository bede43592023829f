import { createRoute, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { isLoopbackHost } from '../../domain/addresses.js';
import type { Metrics } from '../dependencies.js';
import type { HttpApp, HttpEnv } from '../http-env.js';
import { problems } from '../openapi.js';

const TEXT = 'text/plain';
const textSchema = z.string().openapi({ example: 'gateway_faults 0\n' });

export interface MetricsRouteOptions {
  readonly metrics: Metrics;
  /** Whether every address may read the metrics without a token. */
  readonly isOpen: boolean;
  /** Whether the address never needs a token: loopback (CONTRACT 2), unless behind a proxy. */
  readonly isTrusted: (address: string) => boolean;
  readonly elapsed: () => number;
  /** Guards for all other requests: the administrator's token. */
  readonly guards: readonly [MiddlewareHandler<HttpEnv>, MiddlewareHandler<HttpEnv>];
}

/** Metrics take at most one part in so many of the time, however often they are asked for. */
const SHARE = 10;
/** A rendering that a pause of the machine fell into must not last for hours. */
const MAX_REUSED_MS = 5_000;

/** `/metrics` in the Prometheus text format. */
export function registerMetrics(app: HttpApp, options: MetricsRouteOptions): void {
  const { metrics, isOpen, isTrusted, elapsed, guards } = options;
  const render = reusing(() => metrics.metrics(), elapsed);
  const unlessOpen = (guard: MiddlewareHandler<HttpEnv>): MiddlewareHandler<HttpEnv> => {
    return (c, next) => {
      const address = c.env.incoming.socket.remoteAddress ?? '';
      // A page of another site may have its own name lead here (DNS rebinding), and ask in a browser's name.
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
    security: [{}, { bearer: [] }],
    middleware: [unlessOpen(authenticate), unlessOpen(admin)],
    responses: {
      200: { description: 'The metrics.', content: { [TEXT]: { schema: textSchema } } },
      ...problems.granted,
    },
  });
  app.openapi(getMetrics, async (c) =>
    c.text(await render(), 200, { 'Content-Type': metrics.contentType }),
  );
}

/** Renders once for all who ask meanwhile, and again only after a multiple of the time that it took. */
function reusing(render: () => Promise<string>, elapsed: () => number): () => Promise<string> {
  let text: Promise<string> | undefined;
  let reusedUntilMs = 0;
  return () => {
    if (text !== undefined && elapsed() < reusedUntilMs) return text;
    const startedAtMs = elapsed();
    reusedUntilMs = Number.POSITIVE_INFINITY;
    text = render().finally(() => {
      const endedAtMs = elapsed();
      reusedUntilMs = endedAtMs + Math.min((SHARE - 1) * (endedAtMs - startedAtMs), MAX_REUSED_MS);
    });
    return text;
  };
}
