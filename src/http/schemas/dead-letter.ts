import { z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/time.js';
import type { DeadLetter } from '../../site/bridge-list.js';
import { timestampSchema } from './common.js';

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
