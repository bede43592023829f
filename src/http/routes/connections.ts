import { randomUUID } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/time.js';
import {
  type ConnectionView,
  DENIED_OPERATIONS,
  DENIED_REASONS,
  type DeniedConnection,
  MQTT_VERSIONS,
  PROTOCOLS,
} from '../../site/access/connection-list.js';
import type { SessionView } from '../../site/access/session-list.js';
import type { RouteServices } from '../dependencies.js';
import { jsonResponse, problems } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import { EXAMPLE_ID, timestampSchema } from '../schemas/common.js';
import { cursorParameter, limitParameter } from '../schemas/listing.js';

const connectionsQuerySchema = z.object({ limit: limitParameter, cursor: cursorParameter });

const countSchema = z.int().min(0);
const addressSchema = z.string().openapi({ example: '192.0.2.7' });

const principalSchema = z.object({
  type: z.enum(['access-token', 'device']),
  id: z.string().openapi({ description: 'A UUID, or `admin`.', example: EXAMPLE_ID }),
});

const backlogSchema = z
  .object({ alarms: countSchema, messages: countSchema })
  .openapi({ description: 'Waiting or in flight for the session.' });

const connectionSchema = z
  .object({
    clientId: z.string().openapi({ example: 'nurse-call' }),
    principal: principalSchema,
    address: addressSchema,
    since: timestampSchema,
    protocol: z.enum(PROTOCOLS).openapi({
      description:
        'TCP (`mqtt`) or WebSocket (`ws`); with an `s`, over TLS. `sse`: an event stream, over HTTP.',
    }),
    mqttVersion: z
      .enum(MQTT_VERSIONS)
      .nullable()
      .openapi({ description: 'Null for an event stream.' }),
    keepAliveSeconds: z.number().nullable().openapi({
      description:
        'The one that the gateway goes by: at most `mqtt.maxKeepAliveSeconds`. Null for an event stream.',
      example: 60,
    }),
    backlog: backlogSchema,
    slowed: z
      .object({
        since: timestampSchema,
        limit: z.string().openapi({ example: 'device.messagesPerSecond' }),
      })
      .nullable()
      .openapi({ description: 'The limit because of which it is read later than it sends.' }),
  })
  .openapi('Connection');

const connectionPageSchema = z
  .object({
    nextCursor: z
      .string()
      .nullable()
      .openapi({ description: 'Null on the last page.', example: null }),
    connections: z.array(connectionSchema),
  })
  .openapi('ConnectionPage');

const codes = Object.keys(DENIED_REASONS);

const deniedConnectionSchema = z
  .object({
    at: timestampSchema,
    address: addressSchema,
    clientId: z
      .string()
      .nullable()
      .openapi({ description: 'Null when it could not be read.', example: 'nurse-call' }),
    username: z.string().nullable().openapi({
      description: 'Only the id of a device or access token; null for anything else.',
      example: EXAMPLE_ID,
    }),
    operation: z.enum(DENIED_OPERATIONS),
    topic: z.string().nullable().openapi({
      description: 'The filter or topic, 256 characters at most; null where none was denied.',
      example: 'care-homes/+/devices/+/alarms/#',
    }),
    mqttVersion: z.enum(MQTT_VERSIONS).nullable().openapi({
      description: 'Null when no CONNECT stated one.',
      example: '3.1.1',
    }),
    returnCode: z.int().nullable().openapi({
      description:
        'The code in CONNACK or SUBACK; with MQTT 5 also in PUBACK, PUBREC or DISCONNECT. Null if none was sent.',
      example: 128,
    }),
    code: z.enum(codes).openapi({ example: 'filter-outside-grants' }),
    detail: z.string().openapi({
      description: 'The reason in words.',
      example: DENIED_REASONS['filter-outside-grants'],
    }),
  })
  .openapi('DeniedConnection');

/** An open connection in a response. */
function connectionView({
  sinceMs,
  slowed,
  ...shown
}: ConnectionView): z.infer<typeof connectionSchema> {
  return {
    ...shown,
    since: formatTime(sinceMs),
    slowed: slowed && { since: formatTime(slowed.sinceMs), limit: slowed.limit },
  };
}

/** A denial over MQTT, or a connect error, in a response. */
function deniedConnectionView({
  atMs,
  ...shown
}: DeniedConnection): z.infer<typeof deniedConnectionSchema> {
  return { ...shown, at: formatTime(atMs) };
}

const sessionsQuerySchema = z.object({ limit: limitParameter });

const sessionSchema = z
  .object({
    clientId: z.string().openapi({ example: 'nurse-call' }),
    principal: principalSchema,
    connected: z.boolean(),
    awaySince: timestampSchema
      .nullable()
      .openapi({ description: 'When it was last connected; null while it is.' }),
    backlog: backlogSchema,
    oldestQueuedAt: timestampSchema.nullable().openapi({
      description: 'When the oldest of the backlog was received; null for none, or when unknown.',
    }),
  })
  .openapi('Session');

const sessionsSchema = z
  .object({
    total: z.int().min(0).openapi({ description: 'Of all persistent sessions.' }),
    sessions: z.array(sessionSchema),
  })
  .openapi('Sessions');

/** A persistent session in a response. */
function sessionView({
  awaySinceMs,
  oldestQueuedAtMs,
  ...shown
}: SessionView): z.infer<typeof sessionSchema> {
  return {
    ...shown,
    awaySince: awaySinceMs === null ? null : formatTime(awaySinceMs),
    oldestQueuedAt: oldestQueuedAtMs === null ? null : formatTime(oldestQueuedAtMs),
  };
}

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
  },
});

const listDenied = createRoute({
  method: 'get',
  path: '/connections/denied',
  operationId: 'listDeniedConnections',
  summary: 'List what was denied over MQTT, and connect errors, newest first',
  description:
    'The newest 1,000 since the gateway started: each CONNECT that failed, each filter of a SUBSCRIBE ' +
    'that was answered with 0x80, each publish that was dropped for want of a permission.',
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
  },
});

/** Open connections, denials over MQTT, and sessions with their backlogs, for the administrator. */
export function registerConnections(app: HttpApp, services: RouteServices): void {
  const { access, connections, sessions, cursors } = services;
  // The numbers of connections begin again at each start.
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
