import { z } from '@hono/zod-openapi';
import { limitsChangeSchema, ownLimitsSchema } from '../../domain/limits.js';
import { formatTime } from '../../domain/notation.js';
import type { Device } from '../../domain/site.js';
import type { PresenceView } from '../../site/presence-view.js';
import { idSchema, nameSchema, timestampSchema, uuidSchema } from './common.js';

// A copy: only schemas made after Hono's extension of zod can be described.
const ownLimits = ownLimitsSchema.clone().openapi('DeviceLimits', {
  description: 'Limits of its own, instead of `limits.device` of the configuration; if it has any.',
});

export const deviceSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Fall sensor, bed 2' }),
    locationId: idSchema,
    roomId: idSchema.nullable(),
    online: z.boolean(),
    lastSeenAt: timestampSchema.nullable(),
    createdAt: timestampSchema,
    limits: ownLimits.optional().openapi({ example: { messagesPerSecond: 20 } }),
  })
  .openapi('Device');

const secret = z.string().openapi({
  description: 'The MQTT password, shown only once.',
  example: 'zvjLO6xy254jZ6ZjSlp6EyWlp8RY_FuagsCD0j-QCwA',
});

export const createdDeviceSchema = deviceSchema.extend({ secret }).openapi('CreatedDevice');
export const deviceSecretSchema = z.object({ secret }).openapi('DeviceSecret');

export const newDeviceSchema = z
  .strictObject({ name: nameSchema, id: uuidSchema.optional() })
  .openapi('NewDevice');

export const deviceChangeSchema = z
  .strictObject({
    name: nameSchema.optional(),
    limits: limitsChangeSchema
      .optional()
      .openapi({ description: 'Limits of its own; null takes one back.' }),
  })
  .refine(
    ({ name, limits }) => name !== undefined || limits !== undefined,
    'must have at least one of name and limits',
  )
  .openapi('DeviceChange', { minProperties: 1, example: { name: 'Fall sensor, bed 2' } });

/** A device in a response: its record and its presence. */
export function deviceView(device: Device, presence: PresenceView): z.infer<typeof deviceSchema> {
  const { online, lastSeenAtMs } = presence.of(device.id);
  return {
    id: device.id,
    name: device.name,
    locationId: device.locationId,
    roomId: device.roomId,
    online,
    lastSeenAt: lastSeenAtMs === null ? null : formatTime(lastSeenAtMs),
    createdAt: formatTime(device.createdAtMs),
    ...(Object.keys(device.limits).length > 0 && { limits: device.limits }),
  };
}
