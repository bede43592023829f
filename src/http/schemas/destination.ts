import { z } from '@hono/zod-openapi';
import { DESTINATION_TYPES } from '../../site/alarms/destinations.js';
import { timestampSchema } from './common.js';

/** Where alarms go. */
export const destinationSchema = z
  .object({
    type: z.enum(DESTINATION_TYPES),
    id: z.string().openapi({
      description: 'Of a session its client id, of a bridge or webhook its name.',
      example: 'station-1',
    }),
    name: z.string().openapi({
      description: 'Of a session the name of its access token.',
      example: 'Nurse call',
    }),
  })
  .openapi('Destination');

/** How a bridge or webhook fares. */
export const destinationStateSchema = z.enum(['delivering', 'failing', 'refusing']).openapi({
  description: 'Refusing: it has refused an alarm, and taken none since.',
});

export const countSchema = z.int().min(0);

/** The queue of a bridge or webhook: waiting messages, and the outcomes of all others. */
export const queueFields = {
  queued: countSchema,
  oldestQueuedAt: timestampSchema.nullable(),
  delivered: countSchema,
  dropped: z.object({
    tooOld: countSchema,
    tooMany: countSchema,
    refused: countSchema.openapi({
      description: 'Dead letters: messages that are never taken there.',
    }),
    lost: countSchema.openapi({ description: 'Messages that the store has lost.' }),
  }),
};
