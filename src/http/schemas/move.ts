import { z } from '@hono/zod-openapi';
import { nullableUuidSchema, uuidSchema } from './common.js';

/** The target of a move: exactly one of two fields (specification 4, "Devices"). */
export const deviceMoveSchema = z
  .strictObject({
    targetLocationId: uuidSchema.optional(),
    targetRoomId: nullableUuidSchema
      .optional()
      .openapi({ description: 'A room of the location; null takes the device out of its room.' }),
  })
  .refine(
    ({ targetLocationId, targetRoomId }) =>
      (targetLocationId === undefined) !== (targetRoomId === undefined),
    'must have exactly one of targetLocationId and targetRoomId',
  )
  .openapi('DeviceMove', {
    description: 'Exactly one of the two.',
    minProperties: 1,
    maxProperties: 1,
  });

export const roomMoveSchema = z.strictObject({ targetGroupId: uuidSchema }).openapi('RoomMove');
