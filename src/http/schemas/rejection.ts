import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import type { RejectionRecord } from '../../site/rejection-list.js';
import { idSchema, timestampSchema } from './common.js';

export const rejectionSchema = z
  .object({
    deviceId: idSchema,
    reason: z.string(),
    topic: z.string(),
    base64: z.base64(),
    receivedAt: timestampSchema,
  })
  .openapi('RejectedPublish');

/** An invalid publish as responses show it; the field names are those of the rejected topics. */
export function rejectionView(record: RejectionRecord): z.infer<typeof rejectionSchema> {
  const { deviceId, reason, topic, base64, receivedAtMs } = record;
  return { deviceId, reason, topic, base64, receivedAt: formatTime(receivedAtMs) };
}
