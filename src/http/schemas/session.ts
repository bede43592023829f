import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import type { SessionView } from '../../site/session-list.js';
import { timestampSchema } from './common.js';
import { backlogSchema, principalSchema } from './connection.js';
import { limitParameter } from './listing.js';

export const sessionsQuerySchema = z.object({ limit: limitParameter });

const sessionSchema = z
  .object({
    clientId: z.string().openapi({ example: 'nurse-call' }),
    principal: principalSchema,
    connected: z.boolean(),
    awaySince: timestampSchema
      .nullable()
      .openapi({ description: 'When it was last connected; null while it is.' }),
    backlog: backlogSchema,
    oldestQueuedAt: timestampSchema.nullable().openapi({
      description: 'When the oldest of the backlog was received; null for none, or when unknown.',
    }),
  })
  .openapi('Session');

export const sessionsSchema = z
  .object({
    total: z.int().min(0).openapi({ description: 'Of all persistent sessions.' }),
    sessions: z.array(sessionSchema),
  })
  .openapi('Sessions');

/** A persistent session as it is shown. */
export function sessionView({
  awaySinceMs,
  oldestQueuedAtMs,
  ...shown
}: SessionView): z.infer<typeof sessionSchema> {
  return {
    ...shown,
    awaySince: awaySinceMs === null ? null : formatTime(awaySinceMs),
    oldestQueuedAt: oldestQueuedAtMs === null ? null : formatTime(oldestQueuedAtMs),
  };
}
