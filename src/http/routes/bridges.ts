import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import { describeBridge } from '../../site/bridge-list.js';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, problems } from '../openapi.js';
import { bridgePathSchema, bridgeSchema, setAsideSchema, setAsideView } from '../schemas/bridge.js';
import type { RouteServices } from './services.js';

const tags = ['Bridges'];

const list = createRoute({
  method: 'get',
  path: '/bridges',
  operationId: 'listBridges',
  summary: 'List the bridges to other brokers, and how they are doing',
  tags,
  responses: { 200: jsonResponse('Bridges.', z.array(bridgeSchema)), ...problems.granted },
});

const setAside = createRoute({
  method: 'get',
  path: '/bridges/{name}/set-aside',
  operationId: 'listSetAsideMessages',
  summary: 'List the messages that the upstream will never take, newest first',
  tags,
  request: { params: bridgePathSchema },
  responses: {
    200: jsonResponse('The newest of them.', z.array(setAsideSchema)),
    ...problems.resource,
    ...problems.store,
  },
});

/** The bridges to other brokers. They are configured in the file, not here. */
export function registerBridges(app: HttpApp, services: RouteServices): void {
  const { access, bridges, setAside: messages } = services;

  app.openapi({ ...list, middleware: [access.admin()] }, async (c) => {
    const statuses = await bridges.statuses();
    return c.json(statuses.map(describeBridge), 200);
  });

  app.openapi({ ...setAside, middleware: [access.admin()] }, async (c) => {
    const { name } = c.req.valid('param');
    if (!bridges.has(name)) {
      throw new GatewayError('bridge-not-found', 'There is no such bridge.');
    }
    return c.json((await messages.list(name)).map(setAsideView), 200);
  });
}
