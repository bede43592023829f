import { z } from '@hono/zod-openapi';
import { FAULT_CODES, FAULT_SUBJECTS } from '../../domain/faults.js';

const CODE = `What is wrong. Stable; versions to come have more. Now: ${FAULT_CODES.join(', ')}.`;

/** A present fault, as far as the caller may see it. */
export const faultSchema = z
  .object({
    code: z.string().openapi({ description: CODE, example: 'bridge-down' }),
    stops: z.boolean().openapi({ description: 'Whether the gateway is not ready because of it.' }),
    since: z.iso.datetime().openapi({ example: '2026-11-21T08:00:00.000Z' }),
    message: z.string().optional().openapi({
      description: 'With a valid access token only.',
      example: 'A bridge is down: the upstream cannot be reached',
    }),
    acknowledgeable: z.literal(true).optional().openapi({
      description: 'Present if it stays until an administrator acknowledges it.',
    }),
    subject: z
      .object({ type: z.enum(FAULT_SUBJECTS), id: z.string(), name: z.string() })
      .optional()
      .openapi({
        description: 'What it is about, for callers who may see that.',
        example: { type: 'bridge', id: 'head-office', name: 'head-office' },
      }),
  })
  .openapi('Fault');
