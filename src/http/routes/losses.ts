import { createRoute, z } from '@hono/zod-openapi';
import { actorOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, problems } from '../openapi.js';
import { lossPathSchema, lossSchema, lossView } from '../schemas/loss.js';

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
