import { z } from 'zod';
import { ALARM_KINDS } from './alarm.js';

/** Keys that several lists of the configuration share (`config/schema.ts`). */

/** The name of an entry: a level of topics, and of keys in the store. */
export const entryName = z
  .string()
  .regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of the characters a-z, 0-9 and -');

export const chosenLocations = z
  .array(z.guid('must be a UUID').toLowerCase())
  .min(1)
  .optional()
  .meta({
    description: 'ids of locations. Left out: all',
    examples: [['3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318']],
  });

export const chosenKinds = z
  .array(z.enum(ALARM_KINDS))
  .min(1)
  .optional()
  .meta({
    description: 'chooses among the alarms. Left out: all',
    examples: [['fall', 'helpCall']],
  });

/** A list in which no two entries have the same name. */
export function namedList<Entry extends z.ZodType<{ readonly name: string }>>(entry: Entry) {
  return z.array(entry).refine(haveDifferentNames, {
    message: 'must have different names',
    // Also beside other faults: all are told at once.
    when: ({ value }) => Array.isArray(value),
  });
}

const namedShape = z.object({ name: z.unknown() });

function haveDifferentNames(entries: readonly unknown[]): boolean {
  const names = entries.flatMap((entry) => namedShape.safeParse(entry).data?.name ?? []);
  return new Set(names).size === names.length;
}
