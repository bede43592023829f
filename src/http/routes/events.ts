import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { maySubscribe } from '../../domain/grants.js';
import { GatewayError } from '../../errors.js';
import type { EventSubscription, StreamRequest } from '../../site/event-streams.js';
import { addressOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import { EventStream } from '../event-stream.js';
import { callerOf, type HttpApp, type HttpEnv } from '../http-env.js';
import { problem, problems } from '../openapi.js';
import {
  DEFAULT_FILTER,
  EVENT_STREAM_MEDIA_TYPE,
  eventStreamSchema,
  eventsHeaderSchema,
  eventsQuerySchema,
} from '../schemas/event.js';

const RETRY_AFTER_SECONDS = '5';

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
    ...problems.invalid,
    429: problem(
      'Too many invalid access tokens came from this address, or the token has as many connections or subscriptions as it may have.',
    ),
    503: problem('The gateway is stopping.'),
  },
});

/** Forwarded messages for browsers and scripts, which speak no MQTT. */
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
    stream.attach(subscribed(services, c, request, stream));
    return c.body(stream.body, 200);
  });
}

/** Subscribes; what cannot be had now can be had later. */
function subscribed(
  { events: streams }: RouteServices,
  c: Context<HttpEnv>,
  request: StreamRequest,
  stream: EventStream,
): EventSubscription {
  try {
    return streams.open(request, stream);
  } catch (error) {
    stream.end();
    c.header('Retry-After', RETRY_AFTER_SECONDS);
    throw error;
  }
}
