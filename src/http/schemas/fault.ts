import { z } from '@hono/zod-openapi';
import { FAULT_SUBJECTS, type Fault, faultWords, type Language } from '../../domain/fault.js';
import { FAULT_CODES } from '../../domain/faults.js';
import type { Grant } from '../../domain/grants.js';
import type { Access } from '../access.js';
import { namedSchema } from './common.js';

const CODE = `What is wrong. Stable; later versions may add to these: ${FAULT_CODES.join(', ')}.`;

/** A present fault, as far as the caller may see it. */
export const faultSchema = z
  .object({
    code: z.string().openapi({ description: CODE, example: 'bridge-down' }),
    stops: z.boolean().openapi({ description: 'Whether the gateway is not ready because of it.' }),
    since: z.iso.datetime().openapi({ example: '2026-11-21T08:00:00.000Z' }),
    message: z.string().optional().openapi({
      description: 'With a valid access token only.',
      example: 'A bridge is down: the upstream cannot be reached.',
    }),
    subject: z
      .object({
        type: z.enum(FAULT_SUBJECTS),
        id: z.string(),
        name: z.string(),
        via: namedSchema.optional().openapi({ description: 'The hub that publishes for it.' }),
      })
      .optional()
      .openapi({
        description: 'What it is about, for callers who may see that.',
        example: { type: 'bridge', id: 'head-office', name: 'head-office' },
      }),
  })
  .openapi('Fault');

/** A fault as shown to a caller who must do something about it. */
export const advisedFaultSchema = faultSchema
  .required({ message: true })
  .extend({
    advice: z.string().openapi({
      description: 'What to do about it. Text in backquotes is code.',
      example: 'Check its name, address and port, and the network.',
    }),
    acknowledgeable: z.boolean().openapi({
      description: 'Whether it stays until an administrator acknowledges it.',
    }),
  })
  .openapi('AdvisedFault');

/** A fault, with its subject where a caller with these grants may see it. */
export function faultView(
  fault: Fault,
  grants: readonly Grant[],
  access: Pick<Access, 'covers'>,
  language: Language,
) {
  const { code, stops, since, subject } = fault;
  const { message } = faultWords(fault, language);
  const isShown = subject !== undefined && access.covers(grants, subject);
  return { code, stops, since, message, ...(isShown && { subject }) };
}
