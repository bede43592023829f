import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import { describeBridge } from '../../site/bridge-list.js';
import { actorOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import { jsonResponse, noContent, problems } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import { timestampSchema } from '../schemas/common.js';
import { deadLetterSchema, deadLetterView } from '../schemas/dead-letter.js';
import { destinationStateSchema, queueFields } from '../schemas/destination.js';

/** A bridge's status, the same over HTTP and on `gateway/bridges/<name>/status`. */
const bridgeSchema = z
  .object({
    name: z.string().openapi({ example: 'head-office' }),
    url: z.string().nullable().openapi({
      description: 'Null while the bridge is missing from the configuration.',
      example: 'mqtts://broker.head-office.example:8883',
    }),
    state: destinationStateSchema,
    connected: z.boolean(),
    connectedSince: timestampSchema.nullable(),
    lastAcknowledgedAt: timestampSchema
      .nullable()
      .openapi({ description: 'When the upstream last acknowledged a message.' }),
    ...queueFields,
    lastError: z
      .object({
        at: timestampSchema,
        kind: z.string().openapi({ example: 'timeout' }),
        detail: z.string().openapi({ example: 'The upstream has not answered within 10 s.' }),
      })
      .nullable()
      .openapi({ description: 'The last failure, even if it is over.' }),
  })
  .openapi('Bridge');

const bridgePathSchema = z.object({ name: z.string().min(1).max(40) });

const tags = ['Bridges'];

const list = createRoute({
  method: 'get',
  path: '/bridges',
  operationId: 'listBridges',
  summary: 'List the bridges to other brokers with their status',
  tags,
  responses: { 200: jsonResponse('Bridges.', z.array(bridgeSchema)), ...problems.granted },
});

const remove = createRoute({
  method: 'delete',
  path: '/bridges/{name}',
  operationId: 'deleteBridge',
  summary: 'Delete the queue of a bridge that is missing from the configuration',
  tags,
  request: { params: bridgePathSchema },
  responses: { 204: noContent, ...problems.conflict },
});

const listDeadLetters = createRoute({
  method: 'get',
  path: '/bridges/{name}/dead-letters',
  operationId: 'listDeadLetters',
  summary: 'List the dead letters: messages that the upstream never takes, newest first',
  tags,
  request: { params: bridgePathSchema },
  responses: { 200: jsonResponse('The newest dead letters.', z.array(deadLetterSchema)) },
});

/** The bridges to other brokers; they are configured in the file, not here. */
export function registerBridges(app: HttpApp, services: RouteServices): void {
  const { access, bridges, deadLetters } = services;

  app.openapi({ ...list, middleware: [access.admin()] }, async (c) => {
    const statuses = await bridges.statuses();
    return c.json(statuses.map(describeBridge), 200);
  });

  app.openapi({ ...remove, middleware: [access.admin()] }, async (c) => {
    await bridges.delete(actorOf(c), c.req.valid('param').name);
    return c.body(null, 204);
  });

  app.openapi({ ...listDeadLetters, middleware: [access.admin()] }, async (c) => {
    const { name } = c.req.valid('param');
    if (!bridges.has(name)) {
      throw new GatewayError('bridge-not-found', 'There is no such bridge.');
    }
    return c.json((await deadLetters.list(name)).map(deadLetterView), 200);
  });
}
