import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/times.js';
import type { SetAsideMessage } from '../../site/bridge-list.js';
import { timestampSchema } from './common.js';

const countSchema = z.int().min(0);

/** A bridge's status, over HTTP and on `gateway/bridges/<name>/status` alike. */
export const bridgeSchema = z
  .object({
    name: z.string(),
    url: z.string(),
    connected: z.boolean(),
    connectedSince: timestampSchema.nullable(),
    lastAcknowledgedAt: timestampSchema
      .nullable()
      .openapi({ description: 'When the upstream last acknowledged a message.' }),
    queued: countSchema,
    oldestQueuedAt: timestampSchema.nullable(),
    delivered: countSchema,
    dropped: z.object({
      tooOld: countSchema,
      tooMany: countSchema,
      refused: countSchema.openapi({
        description: 'Never to be taken by the upstream: set aside.',
      }),
    }),
    lastError: z
      .object({ at: timestampSchema, kind: z.string(), detail: z.string() })
      .nullable()
      .openapi({ description: 'The last failure, also when it is over.' }),
  })
  .openapi('Bridge');

export const bridgePathSchema = z.object({ name: z.string().min(1).max(40) });

export const setAsideSchema = z
  .object({ at: timestampSchema, topic: z.string(), reason: z.string(), base64: z.base64() })
  .openapi('SetAsideMessage');

/** A message that an upstream will never take, as responses show it. */
export function setAsideView(message: SetAsideMessage): z.infer<typeof setAsideSchema> {
  const { atMs, topic, reason, payload } = message;
  return { at: formatTime(atMs), topic, reason, base64: payload.toString('base64') };
}
