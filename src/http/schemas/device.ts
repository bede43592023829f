import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import type { Device } from '../../domain/site.js';
import type { PresenceView } from '../../site/presence-view.js';
import { idSchema, nameSchema, timestampSchema, uuidSchema } from './common.js';

export const deviceSchema = z
  .object({
    id: idSchema,
    name: z.string(),
    locationId: idSchema,
    roomId: idSchema.nullable(),
    online: z.boolean(),
    lastSeenAt: timestampSchema.nullable(),
    createdAt: timestampSchema,
  })
  .openapi('Device');

const secret = z.string().openapi({ description: 'The MQTT password, shown only once.' });

export const createdDeviceSchema = deviceSchema.extend({ secret }).openapi('CreatedDevice');
export const deviceSecretSchema = z.object({ secret }).openapi('DeviceSecret');

export const newDeviceSchema = z
  .strictObject({ name: nameSchema, id: uuidSchema.optional() })
  .openapi('NewDevice');

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
  };
}
