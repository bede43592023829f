import { randomUUID } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import type { RouteServices } from '../dependencies.js';
import type { HttpApp } from '../http-env.js';
import { jsonResponse, problems } from '../openapi.js';
import {
  connectionPageSchema,
  connectionsQuerySchema,
  connectionView,
  deniedConnectionSchema,
  deniedConnectionView,
} from '../schemas/connection.js';
import { sessionsQuerySchema, sessionsSchema, sessionView } from '../schemas/session.js';

const tags = ['Connections'];

const list = createRoute({
  method: 'get',
  path: '/connections',
  operationId: 'listConnections',
  summary: 'List who is connected over MQTT or reads events, in the order of connecting',
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

const listSessions = createRoute({
  method: 'get',
  path: '/sessions',
  operationId: 'listSessions',
  summary: 'List the persistent sessions for which most waits, connected or away',
  description:
    'Alarms count before other messages; then come those that are away for the longest. The queues of ' +
    'bridges are at `/bridges`.',
  tags,
  request: { query: sessionsQuerySchema },
  responses: {
    200: jsonResponse('The sessions.', sessionsSchema),
    ...problems.granted,
    ...problems.invalid,
  },
});

/** Who is connected, who could not be over MQTT, and for whom something waits, for the administrator. */
export function registerConnections(app: HttpApp, services: RouteServices): void {
  const { access, connections, sessions, cursors } = services;
  // Connections are numbered anew at each start.
  const scope = { connectionsSince: randomUUID() };

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

  app.openapi({ ...listSessions, middleware: [access.admin()] }, async (c) => {
    const { total, sessions: shown } = await sessions.withLargestBacklogs(
      c.req.valid('query').limit,
    );
    return c.json({ total, sessions: shown.map(sessionView) }, 200);
  });
}
