import { z } from '@hono/zod-openapi';
import { isFilter } from '../../domain/topics.js';

export const MAX_FILTERS = 20;
export const DEFAULT_FILTER = 'care-homes/#';
export const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream';

const filterSchema = z.string().refine(isFilter, 'must be an MQTT topic filter');

export const eventsQuerySchema = z.object({
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

export const eventsHeaderSchema = z.object({
  'last-event-id': z.string().optional().openapi({
    description:
      'The `id` of the last event with one: the alarms after it come first. A browser sends it by itself.',
    example: '3f0c2a5e-4711-9e645b2f',
  }),
});

/** An event stream is text; what is in it, the examples show. */
export const eventStreamSchema = z.string().openapi({
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
