import { randomUUID } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, problems } from '../openapi.js';
import { PageCursors } from '../page-cursor.js';
import {
  connectionPageSchema,
  connectionsQuerySchema,
  connectionView,
  deniedConnectionSchema,
  deniedConnectionView,
} from '../schemas/connection.js';
import type { RouteServices } from './services.js';

const tags = ['Connections'];

const list = createRoute({
  method: 'get',
  path: '/connections',
  operationId: 'listConnections',
  summary: 'List who is connected over MQTT, in the order of connecting',
  tags,
  request: { query: connectionsQuerySchema },
  responses: {
    200: jsonResponse('A page of open connections.', connectionPageSchema),
    ...problems.granted,
    ...problems.invalid,
  },
});

const listDenied = createRoute({
  method: 'get',
  path: '/connections/denied',
  operationId: 'listDeniedConnections',
  summary: 'List what was denied over MQTT, and connect errors, newest first',
  description:
    'The newest 1,000 since the gateway started: each CONNECT that failed, each filter of a SUBSCRIBE ' +
    'that was answered with 0x80, each publish that closed its connection.',
  tags,
  responses: {
    200: jsonResponse('The newest denials.', z.array(deniedConnectionSchema)),
    ...problems.granted,
  },
});

/** Who is connected over MQTT and who could not, for the administrator. */
export function registerConnections(app: HttpApp, services: RouteServices): void {
  const { access, connections, cursorKey } = services;
  const cursors = new PageCursors(cursorKey);
  // Connections are numbered anew at each start.
  const scope = ['connections', randomUUID()];

  app.openapi({ ...list, middleware: [access.admin()] }, (c) => {
    const { cursor, limit } = c.req.valid('query');
    const start = cursor === undefined ? undefined : cursors.decode(cursor, scope);
    const from = start && { after: start.sequence, upTo: start.upToSequence };
    const { connections: shown, next } = connections.page(limit, from);
    const position = next && { timeMs: 0, sequence: next.after, upToSequence: next.upTo };
    const nextCursor = position === undefined ? null : cursors.encode(position, scope);
    return c.json({ nextCursor, connections: shown.map(connectionView) }, 200);
  });

  app.openapi({ ...listDenied, middleware: [access.admin()] }, (c) =>
    c.json(connections.denied().map(deniedConnectionView), 200),
  );
}
