import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import type { InvalidPublishRecord } from '../../site/invalid-publish-list.js';
import { EXAMPLE_ID, idSchema, timestampSchema } from './common.js';

export const invalidPublishSchema = z
  .object({
    deviceId: idSchema,
    reason: z.string().openapi({ example: 'unknown-kind' }),
    topic: z.string().openapi({ example: `devices/${EXAMPLE_ID}/alarms` }),
    base64: z.base64().openapi({ example: 'eyJraW5kIjoiZmVsbCJ9' }),
    receivedAt: timestampSchema,
  })
  .openapi('RejectedPublish');

/** Renders an invalid publish for responses, with the field names of the `rejected` topics. */
export function invalidPublishView(
  record: InvalidPublishRecord,
): z.infer<typeof invalidPublishSchema> {
  const { deviceId, reason, topic, base64, receivedAtMs } = record;
  return { deviceId, reason, topic, base64, receivedAt: formatTime(receivedAtMs) };
}
