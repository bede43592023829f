import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import type { DeadLetter } from '../../site/bridge-list.js';
import { timestampSchema } from './common.js';

const countSchema = z.int().min(0);

/** A bridge's status, over HTTP and on `gateway/bridges/<name>/status` alike. */
export const bridgeSchema = z
  .object({
    name: z.string().openapi({ example: 'head-office' }),
    url: z.string().openapi({ example: 'mqtts://broker.head-office.example:8883' }),
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
        description: 'Dead letters: messages that the upstream never takes.',
      }),
    }),
    lastError: z
      .object({
        at: timestampSchema,
        kind: z.string().openapi({ example: 'timeout' }),
        detail: z.string().openapi({ example: 'The upstream has not answered within 10 s.' }),
      })
      .nullable()
      .openapi({ description: 'The last failure, even if it is over.' }),
  })
  .openapi('Bridge');

export const bridgePathSchema = z.object({ name: z.string().min(1).max(40) });

export const deadLetterSchema = z
  .object({
    at: timestampSchema,
    topic: z.string().openapi({ example: 'home/alarms/fall' }),
    reason: z.string().openapi({ example: 'not authorized' }),
    base64: z.base64().openapi({ example: 'eyJraW5kIjoiZmFsbCJ9' }),
  })
  .openapi('DeadLetter');

/** A dead letter in a response. */
export function deadLetterView(letter: DeadLetter): z.infer<typeof deadLetterSchema> {
  const { atMs, topic, reason, payload } = letter;
  return { at: formatTime(atMs), topic, reason, base64: payload.toString('base64') };
}
