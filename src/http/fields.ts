/**
 * The fields that several routes take or show, and the parameters of listings.
 *
 * A schema says what a request may hold, and describes it: `/openapi.json` is made from the same schemas, with the
 * metadata given here. Metadata replaces what zod would derive, where a transform hides it.
 */

import { z } from 'zod';
import { TimeZone } from '../domain/calendar.js';
import { isUuid } from '../domain/ids.js';
import { DIRECTIONAL_CONTROLS, INVISIBLES, parseText } from '../domain/names.js';
import { parseRfc3339, type Rounding } from '../domain/time.js';

export const EXAMPLE_ID = '3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318';
export const EXAMPLE_SECRET = 'zvjLO6xy254jZ6ZjSlp6EyWlp8RY_FuagsCD0j-QCwA';
export const EXAMPLE_FOOTAGE_URL = `http://localhost:8080/footage/${EXAMPLE_ID}/video/${EXAMPLE_ID}.mp4?expires=1767249600&signature=qL3v`;

// Given to a route

/** A UUID in either case, read in lower case (RFC 9562, 4). */
export const uuid = z
  .string()
  .refine(isUuid, 'must be a UUID')
  .transform((id) => id.toLowerCase())
  .meta({ type: 'string', format: 'uuid' });

export const uuidOrNull = uuid.nullable().meta({ type: ['string', 'null'], format: 'uuid' });

// Written for every engine of regular expressions: not all readers of the document know \p{…}.
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';
const SPACE = '[\\s\\u0085]';
const DENIED = CONTROL + DIRECTIONAL_CONTROLS;
const NO_SPACE = `[^\\s${DENIED}]`;
const HAS_VISIBLE = `(?=[\\s\\S]*[^\\s\\u0085${INVISIBLES}])`;

/** A name or a note as stored (contract 2). */
function text(kind: 'name' | 'note') {
  return z.string().transform((sent, context) => {
    const result = parseText(kind, sent);
    if ('text' in result) return result.text;
    context.addIssue({ code: 'custom', message: result.fault });
    return z.NEVER;
  });
}

/** A name. */
export const name = text('name').meta({
  type: 'string',
  description:
    '1 to 120 characters (code points) after trimming, one of them visible; no control characters, and no directional controls.',
  // No `maxLength`: white space around the name does not count.
  pattern: `^${HAS_VISIBLE}${SPACE}*${NO_SPACE}([^${DENIED}]{0,118}${NO_SPACE})?${SPACE}*$`,
  examples: ['Haus Birke'],
});

/** A note of whoever acknowledges or resolves; null for none. */
export const note = text('note')
  .nullish()
  .meta({
    type: ['string', 'null'],
    pattern: '\\S',
    description:
      '1 to 500 characters (code points) after trimming, one of them visible; no control characters, and no directional controls.',
    examples: ['Helped back into bed'],
  });

/** An RFC 3339 date-time with an offset, as milliseconds since 1970. */
export function instant(rounding: Rounding) {
  return z
    .string()
    .transform((sent, context) => {
      const timeMs = parseRfc3339(sent, rounding);
      if (timeMs !== undefined) return timeMs;
      context.addIssue({ code: 'custom', message: 'must be an RFC 3339 date-time with an offset' });
      return z.NEVER;
    })
    .meta({ type: 'string', format: 'date-time' });
}

/** The body of a plain rename. */
export const Name = z.strictObject({ name }).meta({ id: 'Name' });

/** The body of a route without input: fields are refused, as they are typos. */
export const Nothing = z.strictObject({});

// Shown by a route

export const id = z.string().meta({ format: 'uuid', examples: [EXAMPLE_ID] });
export const time = z
  .string()
  .meta({ format: 'date-time', examples: ['2026-01-01T06:30:00.000Z'] });
export const count = z.int().min(0);

/** The id and the name of a thing. */
export const named = z.object({ id, name: z.string().meta({ examples: ['Room 7'] }) });

/** The id and the name of a thing, without its other members. */
export function namedView(thing: z.infer<typeof named>): z.infer<typeof named> {
  return { id: thing.id, name: thing.name };
}

/** A bridge or webhook in a path. */
export const MAX_QUEUE_NAME = 40;

// Parameters of listings

const MAX_PAGE = 100;
const MAX_IDS = 100;
export const CSV_SEPARATORS = [',', ';'] as const;
/** Given twice, a parameter arrives as a list, and nobody knows which value is meant. */
export const parameter = z.string('must be given once');
const COMMA_SEPARATED = { style: 'form', explode: false };

export const limit = parameter
  .refine(
    (text) => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= MAX_PAGE,
    `must be an integer from 1 to ${MAX_PAGE}`,
  )
  .transform(Number)
  .default(MAX_PAGE)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: MAX_PAGE });

export const cursor = parameter
  .optional()
  .meta({ description: '`nextCursor` of the page before.', minLength: 1 });

export const nextCursor = z
  .string()
  .nullable()
  .meta({
    description: 'Null on the last page; until then every page has `limit` events.',
    examples: [null],
  });

/** A parameter with one of the values. */
export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return parameter.pipe(z.enum(values)).meta({ type: 'string', enum: [...values] });
}

export const order = oneOf(['asc', 'desc']).default('desc').meta({ default: 'desc' });

/** The exclusive end of a listing. Entries have whole milliseconds, so a finer end is rounded up. */
export function before(description: string) {
  return bound('up', description);
}

/** The exclusive beginning of a listing; a finer one is rounded down. */
export function after(description: string) {
  return bound('down', description);
}

function bound(rounding: Rounding, description: string) {
  return (
    parameter
      // The unescaped `+` of an offset arrives as a space.
      .transform((text) => text.replace(/ (?=\d\d:\d\d$)/, '+'))
      .pipe(instant(rounding))
      .optional()
      .meta({ type: 'string', format: 'date-time', description })
  );
}

export const timeZone = parameter.transform((zone, context) => {
  try {
    return new TimeZone(zone);
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a time zone, such as Europe/Berlin' });
    return z.NEVER;
  }
});

/** How a listing is written as CSV. */
export const csvForm = {
  separator: oneOf(CSV_SEPARATORS).optional().meta({
    description: 'What separates the cells of CSV. With `;` it begins with a byte order mark.',
  }),
  timeZone: timeZone.optional().meta({
    type: 'string',
    description: 'CSV with the times of this zone, as `2026-11-28 11:59:37`, instead of UTC.',
    examples: ['Europe/Berlin'],
  }),
};

/** Some of the values, separated by commas; all of them when left out. */
export function choice<const Values extends readonly [string, ...string[]]>(
  values: Values,
  example: readonly NoInfer<Values[number]>[],
) {
  return parameter
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(values)))
    .transform((chosen) => [...new Set(chosen)])
    .default([...values])
    .meta({
      type: 'array',
      items: { type: 'string', enum: [...values] },
      param: COMMA_SEPARATED,
      description: 'Comma-separated. Without it, all of them.',
      examples: [example],
    });
}

/** Some ids, separated by commas. */
export function ids(description: string) {
  return parameter
    .transform((text, context) => {
      const given = text.toLowerCase().split(',');
      if (given.every(isUuid) && given.length <= MAX_IDS) return [...new Set(given)];
      const message = `must be at most ${MAX_IDS} UUIDs, separated by commas`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    })
    .optional()
    .meta({
      type: 'array',
      items: { type: 'string', format: 'uuid' },
      maxItems: MAX_IDS,
      param: COMMA_SEPARATED,
      description: `${description} Comma-separated, ${MAX_IDS} at most.`,
    });
}

export const presentName = z
  .string()
  .nullable()
  .meta({
    description: 'The name that it has now; null where it is gone, or has none.',
    examples: ['Haus Birke'],
  });
