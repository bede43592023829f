import { z } from '@hono/zod-openapi';
import type { Room } from '../../domain/site.js';
import { idSchema, nameSchema, nullableUuidSchema } from './common.js';

export const roomSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Room 7' }),
    groupId: idSchema.nullable(),
    devices: z.array(idSchema).openapi({ description: 'Ids of the devices in the room.' }),
  })
  .openapi('Room');

/** The group of a new room: none with `null` or without the field. */
const newGroupId = nullableUuidSchema.optional();

export const newRoomSchema = z
  .strictObject({ name: nameSchema, groupId: newGroupId })
  .openapi('NewRoom');

export const roomChangeSchema = z
  .strictObject({
    name: nameSchema.optional(),
    groupId: newGroupId.openapi({ description: 'Null takes the room out of its group.' }),
  })
  .refine(
    ({ name, groupId }) => name !== undefined || groupId !== undefined,
    'must have at least one of name and groupId',
  )
  .openapi('RoomChange', { minProperties: 1 });

/** A room in a response. */
export function roomView(
  room: Room,
  deviceIds: readonly string[] = [],
): z.infer<typeof roomSchema> {
  return { id: room.id, name: room.name, groupId: room.groupId, devices: [...deviceIds] };
}
