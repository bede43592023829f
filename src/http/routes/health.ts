import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import type { Health } from '../dependencies.js';
import { type HttpApp, pathOf } from '../http-env.js';
import { jsonResponse, NO_SECURITY, preparedJson } from '../openapi.js';
import { exampleProblem, PROBLEM_MEDIA_TYPE, problemReply } from '../problem.js';
import { problemSchema } from '../schemas/problem.js';

const liveSchema = z.object({ status: z.literal('ok') }).openapi('Live');
const faultsSchema = z
  .array(z.string())
  .openapi({ example: ['the bridge head-office is not connected'] });
const readySchema = z.object({ ready: z.literal(true), faults: faultsSchema }).openapi('Readiness');
const notReadySchema = problemSchema
  .extend({ ready: z.literal(false), faults: faultsSchema })
  .openapi('NotReady', {
    example: {
      ...exampleProblem('not-ready', '/readyz'),
      ...{ ready: false, faults: ['the store does not answer'] },
    },
  });

const NOT_READY = 'The gateway cannot do its whole work: see `faults`.';

const live = createRoute({
  method: 'get',
  path: '/healthz',
  operationId: 'getLiveness',
  summary: 'Whether the process answers',
  tags: ['Operation'],
  security: NO_SECURITY,
  responses: { 200: jsonResponse('The process answers.', liveSchema) },
});

const ready = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  summary: 'Whether the gateway is ready',
  tags: ['Operation'],
  security: NO_SECURITY,
  responses: {
    200: jsonResponse('The gateway is ready; `faults` has those for others to mend.', readySchema),
    503: preparedJson(
      'The gateway is not ready; `faults` says why.',
      notReadySchema,
      PROBLEM_MEDIA_TYPE,
    ),
  },
});

/** `/healthz` and `/readyz`, open to everybody. */
export function registerHealth(app: HttpApp, health: Health): void {
  app.openapi(live, (c) => c.json({ status: 'ok' as const }, 200));

  app.openapi(ready, (c) => {
    const faults = [...health.faults()];
    if (health.ready()) return c.json({ ready: true as const, faults }, 200);
    // A thrown problem would log an error with every request.
    const failure = new GatewayError('not-ready', NOT_READY);
    const options = { extension: { ready: false, faults } };
    const { headers, body } = problemReply(failure, pathOf(c), c.get('requestId'), options);
    return c.body(body, 503, headers);
  });
}
