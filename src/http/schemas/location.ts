import { z } from '@hono/zod-openapi';
import type { Location } from '../../domain/site.js';
import { idSchema } from './common.js';

export const locationSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Haus Birke' }),
    devices: z.array(idSchema).openapi({
      description: 'Ids of the assigned devices, as far as the access token covers them.',
    }),
  })
  .openapi('Location');

/** A location in a response. */
export function locationView(
  location: Location,
  deviceIds: readonly string[],
): z.infer<typeof locationSchema> {
  return { id: location.id, name: location.name, devices: [...deviceIds] };
}
