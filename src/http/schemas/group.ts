import { z } from '@hono/zod-openapi';
import type { Group } from '../../domain/site.js';
import { idSchema } from './common.js';

export const groupSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Ground floor' }),
    rooms: z.array(idSchema).openapi({ description: 'Ids of the rooms in the group.' }),
  })
  .openapi('Group');

/** A group in a response. */
export function groupView(
  group: Group,
  roomIds: readonly string[] = [],
): z.infer<typeof groupSchema> {
  return { id: group.id, name: group.name, rooms: [...roomIds] };
}
