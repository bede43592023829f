/** Open connections, what was denied over MQTT, and sessions with their backlogs; for the administrator. */

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  DENIED_OPERATIONS,
  DENIED_REASONS,
  MQTT_VERSIONS,
  PROTOCOLS,
} from '../../broker/connection-list.js';
import { PageCursors } from '../cursors.js';
import { count, cursor, EXAMPLE_ID, limit, presentName, time } from '../fields.js';
import { admin } from '../rights.js';
import { get, json, type Routes } from '../route.js';
import { type HttpServices, presentNameOf } from '../services.js';

const clientId = z.string().meta({ examples: ['nurse-call'] });
const address = z.string().meta({ examples: ['192.0.2.7'] });
const principal = z.object({
  type: z.enum(['access-token', 'device']),
  id: z.string().meta({ description: 'A UUID, or `admin`.', examples: [EXAMPLE_ID] }),
});
const backlog = z
  .object({ alarms: count, messages: count })
  .meta({ description: 'Waiting or in flight for the session.' });

const Connection = z
  .object({
    clientId,
    principal,
    name: presentName,
    address,
    since: time,
    protocol: z.enum(PROTOCOLS).meta({
      description:
        'TCP (`mqtt`) or WebSocket (`ws`); with an `s`, over TLS. `sse`: an event stream, over HTTP.',
    }),
    mqttVersion: z
      .enum(MQTT_VERSIONS)
      .nullable()
      .meta({ description: 'Null for an event stream.' }),
    keepAliveSeconds: z
      .number()
      .nullable()
      .meta({
        description:
          'The one that the gateway goes by: at most `mqtt.maxKeepAliveSeconds`. Null for an event stream.',
        examples: [60],
      }),
    backlog,
    slowed: z
      .object({
        since: time,
        limit: z.string().meta({ examples: ['device.messagesPerSecond'] }),
      })
      .nullable()
      .meta({ description: 'The limit because of which it is read later than it sends.' }),
  })
  .meta({ id: 'Connection' });

export const ConnectionPage = z
  .object({
    nextCursor: z
      .string()
      .nullable()
      .meta({ description: 'Null on the last page.', examples: [null] }),
    connections: z.array(Connection),
  })
  .meta({ id: 'ConnectionPage' });

export const DeniedConnection = z
  .object({
    at: time,
    address,
    clientId: clientId.nullable().meta({ description: 'Null when it could not be read.' }),
    username: z
      .string()
      .nullable()
      .meta({
        description: 'Only the id of a device or access token; null for anything else.',
        examples: [EXAMPLE_ID],
      }),
    name: presentName,
    operation: z.enum(DENIED_OPERATIONS),
    topic: z
      .string()
      .nullable()
      .meta({
        description: 'The filter or topic, 256 characters at most; null where none was denied.',
        examples: ['care-homes/+/devices/+/alarms/#'],
      }),
    mqttVersion: z
      .enum(MQTT_VERSIONS)
      .nullable()
      .meta({
        description: 'Null when no CONNECT stated one.',
        examples: ['3.1.1'],
      }),
    returnCode: z
      .int()
      .nullable()
      .meta({
        description:
          'The code in CONNACK or SUBACK; with MQTT 5 also in PUBACK, PUBREC or DISCONNECT. Null if none was sent.',
        examples: [128],
      }),
    code: z.enum(Object.keys(DENIED_REASONS)).meta({ examples: ['filter-outside-grants'] }),
    detail: z.string().meta({
      description: 'The reason in words.',
      examples: [DENIED_REASONS['filter-outside-grants']],
    }),
  })
  .meta({ id: 'DeniedConnection' });

const Session = z
  .object({
    clientId,
    principal,
    name: presentName,
    connected: z.boolean(),
    awaySince: time
      .nullable()
      .meta({ description: 'When it was last connected; null while it is.' }),
    backlog,
    oldestQueuedAt: time.nullable().meta({
      description: 'When the oldest of the backlog was received; null for none, or when unknown.',
    }),
  })
  .meta({ id: 'Session' });

export const Sessions = z
  .object({
    total: count.meta({ description: 'Of all persistent sessions.' }),
    sessions: z.array(Session),
  })
  .meta({ id: 'Sessions' });

export function connectionRoutes(services: HttpServices): Routes {
  const { broker, sessions, cursorKey } = services;
  const cursors = new PageCursors(cursorKey);
  // The numbers of connections begin again at each start.
  const scope = { connectionsSince: randomUUID() };
  const named = <Row extends { readonly principal: { readonly id: string } }>(row: Row) => {
    return { ...row, name: presentNameOf(row.principal.id, services) };
  };
  return {
    listConnections: get('/connections', {
      tag: 'Connections',
      summary: 'List who is connected over MQTT or reads events, in the order of connecting',
      right: admin,
      query: z.strictObject({ limit, cursor }),
      answer: json('A page of open connections.', ConnectionPage),
      handle: ({ query }) => {
        const start = query.cursor === undefined ? undefined : cursors.decode(query.cursor, scope);
        const from = start && { after: start.sequence, upTo: start.upToSequence };
        const { connections: shown, next } = broker.connections(query.limit, from);
        const position = next && { timeMs: 0, sequence: next.after, upToSequence: next.upTo };
        return {
          nextCursor: position === undefined ? null : cursors.encode(position, scope),
          connections: shown.map(named),
        };
      },
    }),
    listDeniedConnections: get('/connections/denied', {
      tag: 'Connections',
      summary: 'List what was denied over MQTT, and connect errors, newest first',
      description:
        'The newest 1,000 since the gateway started: each CONNECT that failed, each filter of a SUBSCRIBE that was answered with 0x80, each publish that was dropped for want of a permission.',
      right: admin,
      answer: json('The newest denials.', DeniedConnection.array()),
      handle: () =>
        broker.denied
          .newest()
          .map((one) => ({ ...one, name: presentNameOf(one.username, services) })),
    }),
    listSessions: get('/sessions', {
      tag: 'Connections',
      summary: 'List the persistent sessions for which most waits, connected or away',
      description:
        'Alarms count before other messages; then come those that are away for the longest. The queues of bridges are at `/bridges`.',
      right: admin,
      query: z.strictObject({ limit }),
      answer: json('The sessions.', Sessions),
      handle: async ({ query }) => {
        const found = await sessions.withLargestBacklogs(query.limit);
        return { ...found, sessions: found.sessions.map(named) };
      },
    }),
  };
}
