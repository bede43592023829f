import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/notation.js';
import { LOSS_KINDS, type Loss } from '../../site/losses.js';
import { EXAMPLE_ID, idSchema, timestampSchema, uuidSchema } from './common.js';

export const lossPathSchema = z.object({ lossId: uuidSchema });

const numberSchema = z.int().min(0).nullable();

export const lossSchema = z
  .object({
    id: idSchema,
    detectedAt: timestampSchema,
    what: z.enum(LOSS_KINDS).openapi({
      description: '`store`: everything; else entries of one kind.',
    }),
    count: numberSchema.openapi({
      description: 'How many entries at most; null when unknown.',
      example: 200,
    }),
    from: numberSchema.openapi({ description: 'The first missing number.', example: 801 }),
    to: numberSchema.openapi({ description: 'The last missing number.', example: 1000 }),
    detail: z.string().openapi({ example: 'The store has lost its newest alarms.' }),
    acknowledgedAt: timestampSchema.nullable(),
    acknowledgedBy: z.string().nullable().openapi({
      description: 'Id of the access token.',
      example: EXAMPLE_ID,
    }),
  })
  .openapi('Loss');

/** A loss in a response. */
export function lossView(loss: Loss): z.infer<typeof lossSchema> {
  const { id, what, count, from, to, detail, detectedAtMs, acknowledgedAtMs } = loss;
  return {
    ...{ id, detectedAt: formatTime(detectedAtMs), what, count, from, to, detail },
    acknowledgedAt: acknowledgedAtMs === null ? null : formatTime(acknowledgedAtMs),
    acknowledgedBy: loss.acknowledgedBy,
  };
}
