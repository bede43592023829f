import { z } from '@hono/zod-openapi';
import { isUuid } from '../../domain/ids.js';
import { DIRECTIONAL_CONTROLS, INVISIBLES, parseText } from '../../domain/names.js';
import { parseRfc3339, type Rounding } from '../../domain/time.js';

/** A UUID in either case, converted to lower case (RFC 9562, 4). */
export const uuidSchema = z
  .string()
  .refine(isUuid, 'must be a UUID')
  .transform((id) => id.toLowerCase())
  .openapi({ type: 'string', format: 'uuid' });

/** A UUID or null, with a description of its own: that of the UUID would exclude null. */
export const nullableUuidSchema = uuidSchema
  .nullable()
  .openapi({ type: ['string', 'null'], format: 'uuid' });

// Written for every regular expression engine: not all readers of the document know \p{…}.
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';
const SPACE = '[\\s\\u0085]';
const DENIED = CONTROL + DIRECTIONAL_CONTROLS;
const NO_SPACE = `[^\\s${DENIED}]`;
const ANY = `[^${DENIED}]`;
const HAS_VISIBLE = `(?=[\\s\\S]*[^\\s\\u0085${INVISIBLES}])`;

/** A name as stored, by the one rule for names (docs/reference/contract.md, 2). */
export const nameSchema = z
  .string()
  .transform((text, context) => {
    const result = parseText('name', text);
    if ('text' in result) return result.text;
    context.addIssue({ code: 'custom', message: result.fault });
    return z.NEVER;
  })
  .openapi({
    type: 'string',
    description:
      '1 to 120 characters (code points) after trimming, one of them visible; no control characters, and no directional controls.',
    // No `maxLength`: white space around the name does not count.
    pattern: `^${HAS_VISIBLE}${SPACE}*${NO_SPACE}(${ANY}{0,118}${NO_SPACE})?${SPACE}*$`,
    example: 'Haus Birke',
  });

/** An RFC 3339 date-time with an offset, read as milliseconds since 1970, finer fractions cut off. */
export const instantSchema = roundedInstantSchema('down');

/** An RFC 3339 date-time like `instantSchema`, with finer fractions rounded as given. */
export function roundedInstantSchema(rounding: Rounding) {
  return z
    .string()
    .transform((text, context) => {
      const timeMs = parseRfc3339(text, rounding);
      if (timeMs !== undefined) return timeMs;
      context.addIssue({ code: 'custom', message: 'must be an RFC 3339 date-time with an offset' });
      return z.NEVER;
    })
    .openapi({ type: 'string', format: 'date-time' });
}

/** A timestamp of the gateway. */
export const timestampSchema = z
  .string()
  .openapi({ format: 'date-time', example: '2026-01-01T06:30:00.000Z' });

export const EXAMPLE_ID = '3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318';
export const EXAMPLE_FOOTAGE_URL = `http://localhost:8080/footage/${EXAMPLE_ID}/video/${EXAMPLE_ID}.mp4?expires=1767249600&signature=qL3v`;

export const idSchema = z.string().openapi({ format: 'uuid', example: EXAMPLE_ID });

/** The id and the name of a thing. */
export const namedSchema = z.object({
  id: idSchema,
  name: z.string().openapi({ example: 'Room 7' }),
});

/** The body of a plain rename. Unknown fields are rejected: they are typos. */
export const nameBodySchema = z.strictObject({ name: nameSchema }).openapi('Name');

export const locationPathSchema = z.object({ locationId: uuidSchema });
export const groupPathSchema = z.object({ locationId: uuidSchema, groupId: uuidSchema });
export const roomPathSchema = z.object({ locationId: uuidSchema, roomId: uuidSchema });
export const roomOfGroupPathSchema = z.object({
  locationId: uuidSchema,
  groupId: uuidSchema,
  roomId: uuidSchema,
});
export const devicePathSchema = z.object({ locationId: uuidSchema, deviceId: uuidSchema });
export const deviceIdPathSchema = z.object({ deviceId: uuidSchema });
