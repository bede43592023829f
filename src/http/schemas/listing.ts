/** The parameters that the paged listings have in common (specification 4). */

import { z } from '@hono/zod-openapi';
import type { Rounding } from '../../domain/notation.js';
import { roundedInstantSchema } from './common.js';

const MAX_PAGE = 100;
const ORDERS = ['asc', 'desc'] as const;

/** A parameter given twice arrives as a list, which says nothing about which one was meant. */
export const parameter = z.string('must be given once');

export const orderParameter = parameter
  .pipe(z.enum(ORDERS))
  .default('desc')
  .openapi({ type: 'string', enum: [...ORDERS], default: 'desc' });

export const limitParameter = parameter
  .refine(
    (text) => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= MAX_PAGE,
    `must be an integer from 1 to ${MAX_PAGE}`,
  )
  .transform(Number)
  .default(MAX_PAGE)
  .openapi({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: MAX_PAGE });

export const cursorParameter = parameter
  .optional()
  .openapi({ description: '`nextCursor` of the page before.' });

/**
 * The end of a listing, itself left out. What is listed has whole milliseconds: the one in which a
 * finer end lies is before it.
 */
export function beforeParameter(description: string) {
  return instantParameter(description, 'up');
}

/** The beginning of a listing, itself left out, and so is the millisecond in which a finer one lies. */
export function afterParameter(description: string) {
  return instantParameter(description, 'down');
}

/** The `+` of an offset that was not escaped arrives as a space. */
function instantParameter(description: string, rounding: Rounding) {
  return parameter
    .transform((text) => text.replace(/ (?=\d\d:\d\d$)/, '+'))
    .pipe(roundedInstantSchema(rounding))
    .optional()
    .openapi({ type: 'string', format: 'date-time', description });
}

/** Some of the values, separated by commas; all of them when left out. */
export function choiceParameter<const Values extends readonly [string, ...string[]]>(
  values: Values,
  example: string,
) {
  return parameter
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(values)))
    .transform((chosen) => [...new Set(chosen)])
    .default([...values])
    .openapi({
      type: 'string',
      description: `Comma-separated: ${values.join(', ')}. Without it, all of them.`,
      example,
    });
}

export const nextCursorSchema = z
  .string()
  .nullable()
  .openapi({ description: 'Null on the last page; until then every page has `limit` events.' });
