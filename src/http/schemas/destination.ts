import { z } from '@hono/zod-openapi';
import { DESTINATION_TYPES } from '../../site/alarms/destinations.js';

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
