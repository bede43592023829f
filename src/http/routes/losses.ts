import { createRoute, z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import { LOSS_KINDS, type Loss } from '../../site/losses.js';
import { actorOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, problems } from '../openapi.js';
import { EXAMPLE_ID, idSchema, timestampSchema, uuidSchema } from '../schemas/common.js';

const lossPathSchema = z.object({ lossId: uuidSchema });

const numberSchema = z.int().min(0).nullable();

const lossSchema = z
  .object({
    id: idSchema,
    detectedAt: timestampSchema,
    what: z.enum(LOSS_KINDS).openapi({
      description: '`store`: everything; else entries of one kind.',
    }),
    count: numberSchema.openapi({
      description: 'How many entries at most; null when unknown.',
      example: 200,
    }),
    from: numberSchema.openapi({ description: 'The first missing number.', example: 801 }),
    to: numberSchema.openapi({ description: 'The last missing number.', example: 1000 }),
    detail: z.string().openapi({ example: 'The store has lost its newest alarms.' }),
    acknowledgedAt: timestampSchema.nullable(),
    acknowledgedBy: z.string().nullable().openapi({
      description: 'Id of the access token.',
      example: EXAMPLE_ID,
    }),
  })
  .openapi('Loss');

/** A loss in a response. */
function lossView(loss: Loss): z.infer<typeof lossSchema> {
  const { id, what, count, from, to, detail, detectedAtMs, acknowledgedAtMs } = loss;
  return {
    ...{ id, detectedAt: formatTime(detectedAtMs), what, count, from, to, detail },
    acknowledgedAt: acknowledgedAtMs === null ? null : formatTime(acknowledgedAtMs),
    acknowledgedBy: loss.acknowledgedBy,
  };
}

const tags = ['Operation'];

const list = createRoute({
  method: 'get',
  path: '/losses',
  operationId: 'listLosses',
  summary: 'List the losses of the store, newest first',
  tags,
  responses: { 200: jsonResponse('Losses.', z.array(lossSchema)), ...problems.granted },
});

const acknowledge = createRoute({
  method: 'post',
  path: '/losses/{lossId}/acknowledge',
  operationId: 'acknowledgeLoss',
  summary: 'Acknowledge a loss, which is a fault until then',
  tags,
  request: { params: lossPathSchema },
  responses: {
    200: jsonResponse('The loss, unchanged if it was acknowledged before.', lossSchema),
    ...problems.resource,
    ...problems.store,
  },
});

/** Losses of acknowledged data, for the administrator. */
export function registerLosses(app: HttpApp, services: RouteServices): void {
  const { access, losses } = services;

  app.openapi({ ...list, middleware: [access.admin()] }, (c) =>
    c.json(losses.list().map(lossView), 200),
  );

  app.openapi({ ...acknowledge, middleware: [access.admin()] }, async (c) => {
    const loss = await losses.acknowledge(actorOf(c), c.req.valid('param').lossId);
    return c.json(lossView(loss), 200);
  });
}
