import { createRoute, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { withoutRepeats } from '../../domain/fault.js';
import { GatewayError } from '../../errors.js';
import type { Access } from '../access.js';
import type { Health } from '../dependencies.js';
import {
  jsonResponse,
  NO_SECURITY,
  OPTIONAL_SECURITY,
  preparedJson,
} from '../documents/openapi.js';
import { type HttpApp, type HttpEnv, pathOf } from '../http-env.js';
import { answerLanguage } from '../language.js';
import { exampleProblem, PROBLEM_MEDIA_TYPE, problemReply } from '../problem.js';
import { faultSchema, faultView } from '../schemas/fault.js';
import { problemSchema } from '../schemas/problem.js';

const liveSchema = z.object({ status: z.literal('ok') }).openapi('Live');
const versionSchema = z.string().openapi({ example: '1.0.0' });
const faultsSchema = z.array(faultSchema);
const readySchema = z
  .object({ ready: z.literal(true), version: versionSchema, faults: faultsSchema })
  .openapi('Readiness');
const notReadySchema = problemSchema
  .extend({ ready: z.literal(false), version: versionSchema, faults: faultsSchema })
  .openapi('NotReady', {
    example: {
      ...exampleProblem('not-ready', '/readyz'),
      ready: false,
      version: '1.0.0',
      faults: [{ code: 'store-unreachable', stops: true, since: '2026-11-21T08:00:00.000Z' }],
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
  description:
    'Open to everybody. With a valid access token, faults also have their message, in English or German (`Accept-Language`), and their subject where the token may see it.',
  security: OPTIONAL_SECURITY,
  responses: {
    200: jsonResponse('The gateway is ready; `faults` has those for others to mend.', readySchema),
    503: preparedJson(
      'The gateway is not ready; `faults` says why.',
      notReadySchema,
      PROBLEM_MEDIA_TYPE,
    ),
  },
});

export interface HealthServices {
  readonly health: Health;
  readonly version: string;
  readonly access: Access;
  readonly authenticateIfPossible: MiddlewareHandler<HttpEnv>;
}

/** `/healthz` and `/readyz`, open to everybody. */
export function registerHealth(app: HttpApp, services: HealthServices): void {
  const { health, version, access, authenticateIfPossible } = services;
  app.openapi(live, (c) => c.json({ status: 'ok' as const }, 200));

  app.openapi({ ...ready, middleware: authenticateIfPossible }, (c) => {
    const language = answerLanguage(c);
    const caller = c.get('caller');
    const faults = withoutRepeats(
      health.shown().map((fault): z.infer<typeof faultSchema> => {
        const { code, stops, since } = fault;
        return caller ? faultView(fault, caller.grants, access, language) : { code, stops, since };
      }),
    );
    if (health.ready()) return c.json({ ready: true as const, version, faults }, 200);
    // A thrown problem would log an error with every request.
    const failure = new GatewayError('not-ready', NOT_READY);
    const options = { extension: { ready: false, version, faults } };
    const { headers, body } = problemReply(failure, pathOf(c), c.get('requestId'), options);
    return c.body(body, 503, headers);
  });
}
