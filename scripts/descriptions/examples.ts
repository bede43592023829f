/** Creates the examples of the OpenAPI and AsyncAPI documents from the schemas' own examples and formats. */

import { z } from 'zod';

const schemaShape = z.looseObject({
  $ref: z.string().optional(),
  example: z.unknown().optional(),
  examples: z.array(z.unknown()).optional(),
  enum: z.array(z.unknown()).optional(),
  type: z.union([z.string(), z.array(z.string()).transform(([first]) => first)]).optional(),
  format: z.string().optional(),
  minimum: z.number().optional(),
  maxProperties: z.number().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  allOf: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
});

const OF_FORMATS: Readonly<Record<string, string>> = {
  uuid: '3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318',
  'date-time': '2026-01-01T06:30:00.000Z',
  base64: 'eyJraW5kIjoiZmVsbCJ9',
};

/**
 * Creates an example of a schema: its own example, or one with an example for each field.
 *
 * @param components the schemas that others refer to, by name
 * @returns undefined if the schema leaves it open, as for the bytes of a recording
 */
export function exampleOf(schema: unknown, components: Readonly<Record<string, unknown>>): unknown {
  const {
    $ref,
    examples = [],
    example = examples[0],
    allOf,
    anyOf,
    ...own
  } = schemaShape.parse(schema);
  const of = (part: unknown) => exampleOf(part, components);
  if (example !== undefined) return example;
  if ($ref !== undefined) return of(components[$ref.split('/').at(-1) ?? '']);
  if (allOf !== undefined) return Object.assign({}, ...allOf.map(of), of(own));
  if (anyOf !== undefined) return of(anyOf[0]);
  if (own.enum !== undefined) return own.enum[0];
  switch (own.type) {
    case 'object': {
      const fields = Object.entries(own.properties ?? {}).slice(0, own.maxProperties);
      return Object.fromEntries(fields.map(([name, field]) => [name, of(field)]));
    }
    case 'array':
      return [of(own.items)];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Math.max(own.minimum ?? 1, 0);
    default:
      return OF_FORMATS[own.format ?? ''];
  }
}
