/** The parameters that the paged listings share. */

import { z } from '@hono/zod-openapi';
import { TimeZone } from '../../domain/calendar.js';
import { isUuid } from '../../domain/ids.js';
import type { Rounding } from '../../domain/time.js';
import { CSV_SEPARATORS } from '../csv.js';
import { roundedInstantSchema } from './common.js';

const MAX_PAGE = 100;
const MAX_IDS = 100;
const ORDERS = ['asc', 'desc'] as const;

/** A single parameter. Given twice, it arrives as a list, and nobody knows which value is meant. */
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
  .openapi({ description: '`nextCursor` of the page before.', minLength: 1 });

/**
 * The exclusive end of a listing. Entries have whole milliseconds, so a finer end is rounded up.
 */
export function beforeParameter(description: string) {
  return instantParameter(description, 'up');
}

/** A time zone of IANA's database. */
export const timeZoneParameter = parameter.transform((name, context) => {
  try {
    return new TimeZone(name);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a time zone, such as Europe/Berlin' });
    return z.NEVER;
  }
});

/** How a listing is written as CSV. */
export const csvParameters = {
  separator: parameter
    .pipe(z.enum(CSV_SEPARATORS))
    .optional()
    .openapi({
      type: 'string',
      enum: [...CSV_SEPARATORS],
      description: 'What separates the cells of CSV. With `;` it begins with a byte order mark.',
    }),
  timeZone: timeZoneParameter.optional().openapi({
    type: 'string',
    description: 'CSV with the times of this zone, as `2026-11-28 11:59:37`, instead of UTC.',
    example: 'Europe/Berlin',
  }),
};

/** The exclusive beginning of a listing; a finer one is rounded down. */
export function afterParameter(description: string) {
  return instantParameter(description, 'down');
}

/** A parameter with a time; the unescaped `+` of an offset arrives as a space. */
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
  example: readonly NoInfer<Values[number]>[],
) {
  return parameter
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(values)))
    .transform((chosen) => [...new Set(chosen)])
    .default([...values])
    .openapi({
      type: 'array',
      items: { type: 'string', enum: [...values] },
      param: { style: 'form', explode: false },
      description: 'Comma-separated. Without it, all of them.',
      example,
    });
}

/** Some ids, separated by commas. */
export function idsParameter(description: string) {
  return parameter
    .transform((text, context) => {
      const ids = text.toLowerCase().split(',');
      if (ids.every(isUuid) && ids.length <= MAX_IDS) return [...new Set(ids)];
      const message = `must be at most ${MAX_IDS} UUIDs, separated by commas`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    })
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string', format: 'uuid' },
      maxItems: MAX_IDS,
      param: { style: 'form', explode: false },
      description: `${description} Comma-separated, ${MAX_IDS} at most.`,
    });
}

export const nextCursorSchema = z.string().nullable().openapi({
  description: 'Null on the last page; until then every page has `limit` events.',
  example: null,
});
