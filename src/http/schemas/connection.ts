import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import {
  type ConnectionView,
  DENIED_OPERATIONS,
  DENIED_REASONS,
  type DeniedConnection,
  MQTT_VERSIONS,
  PROTOCOLS,
} from '../../site/connection-list.js';
import { EXAMPLE_ID, timestampSchema } from './common.js';
import { cursorParameter, limitParameter } from './listing.js';

export const connectionsQuerySchema = z.object({ limit: limitParameter, cursor: cursorParameter });

const countSchema = z.int().min(0);
const addressSchema = z.string().openapi({ example: '192.0.2.7' });

export const principalSchema = z.object({
  type: z.enum(['access-token', 'device']),
  id: z.string().openapi({ description: 'A UUID, or `admin`.', example: EXAMPLE_ID }),
});

export const backlogSchema = z
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

export const connectionPageSchema = z
  .object({
    nextCursor: z
      .string()
      .nullable()
      .openapi({ description: 'Null on the last page.', example: null }),
    connections: z.array(connectionSchema),
  })
  .openapi('ConnectionPage');

const codes = Object.keys(DENIED_REASONS);

export const deniedConnectionSchema = z
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
    returnCode: z.int().nullable().openapi({
      description:
        'In the CONNACK, or of the filter in the SUBACK (128); null: closed without a CONNACK.',
      example: 128,
    }),
    code: z.enum(codes).openapi({ example: 'filter-outside-grants' }),
    detail: z.string().openapi({
      description: 'The reason in words.',
      example: DENIED_REASONS['filter-outside-grants'],
    }),
  })
  .openapi('DeniedConnection');

/** An open connection as it is shown. */
export function connectionView({
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

/** A denial over MQTT, or a connect error, as it is shown. */
export function deniedConnectionView({
  atMs,
  ...shown
}: DeniedConnection): z.infer<typeof deniedConnectionSchema> {
  return { ...shown, at: formatTime(atMs) };
}
