import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import { describeBridge } from '../../site/bridge-list.js';
import type { RouteServices } from '../dependencies.js';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, problems } from '../openapi.js';
import {
  bridgePathSchema,
  bridgeSchema,
  deadLetterSchema,
  deadLetterView,
} from '../schemas/bridge.js';

const tags = ['Bridges'];

const list = createRoute({
  method: 'get',
  path: '/bridges',
  operationId: 'listBridges',
  summary: 'List the bridges to other brokers with their status',
  tags,
  responses: { 200: jsonResponse('Bridges.', z.array(bridgeSchema)), ...problems.granted },
});

const listDeadLetters = createRoute({
  method: 'get',
  path: '/bridges/{name}/dead-letters',
  operationId: 'listDeadLetters',
  summary: 'List the dead letters: messages that the upstream never takes, newest first',
  tags,
  request: { params: bridgePathSchema },
  responses: {
    200: jsonResponse('The newest dead letters.', z.array(deadLetterSchema)),
    ...problems.resource,
    ...problems.store,
  },
});

/** The bridges to other brokers, which are configured in the file and not here. */
export function registerBridges(app: HttpApp, services: RouteServices): void {
  const { access, bridges, deadLetters } = services;

  app.openapi({ ...list, middleware: [access.admin()] }, async (c) => {
    const statuses = await bridges.statuses();
    return c.json(statuses.map(describeBridge), 200);
  });

  app.openapi({ ...listDeadLetters, middleware: [access.admin()] }, async (c) => {
    const { name } = c.req.valid('param');
    if (!bridges.has(name)) {
      throw new GatewayError('bridge-not-found', 'There is no such bridge.');
    }
    return c.json((await deadLetters.list(name)).map(deadLetterView), 200);
  });
}
