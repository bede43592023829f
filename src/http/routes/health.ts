import { createRoute, z } from '@hono/zod-openapi';
import type { Health } from '../dependencies.js';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, NO_SECURITY } from '../openapi.js';

const liveSchema = z.object({ status: z.literal('ok') }).openapi('Live');
const readySchema = z
  .object({ ready: z.boolean(), faults: z.array(z.string()) })
  .openapi('Readiness');

const live = createRoute({
  method: 'get',
  path: '/healthz',
  operationId: 'getLiveness',
  summary: 'Whether the process answers',
  tags: ['Operation'],
  security: NO_SECURITY,
  responses: { 200: jsonResponse('It does.', liveSchema) },
});

const ready = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  summary: 'Whether the gateway can do its work',
  tags: ['Operation'],
  security: NO_SECURITY,
  responses: {
    200: jsonResponse('It can; `faults` says what is wrong nevertheless.', readySchema),
    503: jsonResponse('It cannot; `faults` says why.', readySchema),
  },
});

/** `/healthz` and `/readyz`, open to everybody. */
export function registerHealth(app: HttpApp, health: Health): void {
  app.openapi(live, (c) => c.json({ status: 'ok' as const }, 200));

  app.openapi(ready, (c) => {
    const isReady = health.ready();
    return c.json({ ready: isReady, faults: [...health.faults()] }, isReady ? 200 : 503);
  });
}
