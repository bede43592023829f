import { createRoute, z } from '@hono/zod-openapi';
import { maySubscribe } from '../../domain/grants.js';
import { isFilter, withLowerCaseIds } from '../../domain/topics.js';
import { GatewayError } from '../../errors.js';
import type { EventSubscription, StreamRequest } from '../../site/alarms/event-streams.js';
import { addressOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import { problem, problems } from '../documents/openapi.js';
import { EventStream } from '../event-stream.js';
import { callerOf, type HttpApp } from '../http-env.js';

const MAX_FILTERS = 20;
const DEFAULT_FILTER = 'care-homes/#';
const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream';

const filterSchema = z
  .string()
  .refine(isFilter, 'must be an MQTT topic filter')
  // As SUBSCRIBE takes it (contract 3).
  .transform(withLowerCaseIds);

const eventsQuerySchema = z.object({
  filter: z
    .preprocess(
      (value) => (typeof value === 'string' ? [value] : value),
      z.array(filterSchema).min(1).max(MAX_FILTERS),
    )
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      maxItems: MAX_FILTERS,
      description: `An MQTT topic filter; may be repeated. Without any: \`${DEFAULT_FILTER}\`.`,
      example: ['care-homes/+/devices/+/alarms/#'],
      param: { style: 'form', explode: true },
    }),
  lastEventId: z.string().optional().openapi({
    description: 'As `Last-Event-ID`, for clients that can set no header.',
    example: '3f0c2a5e-4711-9e645b2f',
  }),
});

const eventsHeaderSchema = z.object({
  'last-event-id': z.string().optional().openapi({
    description:
      'The `id` of the last event with one: the alarms after it come first. A browser sends it automatically.',
    example: '3f0c2a5e-4711-9e645b2f',
  }),
});

/** An event stream is text; the example shows its content. */
const eventStreamSchema = z.string().openapi({
  example: [
    'event: open',
    'id: 3f0c2a5e-4711-9e645b2f',
    'data: {"position":"3f0c2a5e-4711-9e645b2f","missed":false}',
    '',
    'event: message',
    'id: 3f0c2a5e-4712-5b2f7d90',
    'data: {"topic":"care-homes/3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318/devices/7b1d52c0-4f3e-4a86-9d0b-c6e8f1a2935d/alarms/fall","retained":false,"payload":{"id":"5b2f7d90-9c31-4a7b-8e64-3f0c2a5e8d1b","kind":"fall"}}',
    '',
    'event: heartbeat',
    'data: {"at":"2026-01-01T06:30:00.000Z"}',
    '',
    '',
  ].join('\n'),
});

const events = createRoute({
  method: 'get',
  path: '/events',
  operationId: 'streamEvents',
  summary: 'Receive forwarded messages as server-sent events, as they come',
  description:
    'As an MQTT subscription at QoS 1: what is forwarded on topics that match a filter, and that the token may see. `open` comes first, then retained messages and live ones. `message` events of the alarm log have an `id`: a client that comes back with it as `Last-Event-ID` gets the alarms after it first, in order, and none twice. `missed` in `open` is true when not all of them can be sent; then the alarm history has the rest. `heartbeat` comes at least every five seconds. A client that leaves its events unread for five seconds is disconnected. The stream ends with the token.',
  tags: ['Events'],
  request: { query: eventsQuerySchema, headers: eventsHeaderSchema },
  responses: {
    200: {
      description: 'The events, without end.',
      content: { [EVENT_STREAM_MEDIA_TYPE]: { schema: eventStreamSchema } },
    },
    ...problems.granted,
    429: problem(
      'Too many invalid access tokens came from this address, or the token has as many connections or subscriptions as it may have.',
    ),
    503: problem('The gateway is stopping.'),
  },
});

/** Forwarded messages for browsers and scripts, which do not speak MQTT. */
export function registerEvents(app: HttpApp, services: RouteServices): void {
  app.openapi(events, (c) => {
    const { filter: filters = [DEFAULT_FILTER], lastEventId } = c.req.valid('query');
    const { 'last-event-id': header } = c.req.valid('header');
    const principal = { type: 'token', ...callerOf(c) } as const;
    if (!filters.every((filter) => maySubscribe(principal, filter))) {
      throw new GatewayError('forbidden', 'The access token has no grant for this filter.');
    }
    c.header('Content-Type', EVENT_STREAM_MEDIA_TYPE);
    c.header('X-Accel-Buffering', 'no');
    // Nobody would read the stream.
    if (c.req.method === 'HEAD') return c.body(null, 200);
    const { now, elapsed } = services;
    const stream = new EventStream({ outgoing: c.env.outgoing, now, elapsed });
    const after = header || lastEventId || undefined;
    const request = { principal, address: addressOf(c) ?? '', filters, after };
    stream.attach(subscribed(services, request, stream));
    return c.body(stream.body, 200);
  });
}

/** Subscribes; a failure ends the stream. */
function subscribed(
  { events: streams }: RouteServices,
  request: StreamRequest,
  stream: EventStream,
): EventSubscription {
  try {
    return streams.open(request, stream);
  } catch (error) {
    stream.end();
    throw error;
  }
}
