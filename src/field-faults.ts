import { z } from 'zod';
import type { FieldFault } from './errors.js';

/**
 * Says what is wrong with an input, in plain words and never with the value, which may be a secret:
 * the same for the configuration and for requests.
 */

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object with keys',
  record: 'an object with keys',
  null: 'null',
};

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };

// The words of every schema that has none of its own. For the whole process, because the validators of
// the routes take them in no other way.
z.config({ localeError: plainWords });

/**
 * One fault for each thing that is wrong; an unknown key is reported where it stands, not as a fault of
 * the object around it.
 *
 * @param unknownKey what to say of a key that the schema does not have
 */
export function fieldFaults(
  error: z.core.$ZodError | undefined,
  unknownKey: string,
): readonly FieldFault[] {
  return (error?.issues ?? []).flatMap((issue) => {
    const isUnknown = issue.code === 'unrecognized_keys';
    const paths = isUnknown ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    const message = isUnknown ? unknownKey : issue.message;
    return paths.map((path) => ({ path: path.map(String).join('.'), message }));
  });
}

function plainWords(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.expected] ?? 'of another type'}`;
    case 'too_small':
      if (issue.minimum === 1 && UNITS[issue.origin] !== undefined) return 'must not be empty';
      return boundWords(issue.origin, 'at least', issue.minimum);
    case 'too_big':
      return boundWords(issue.origin, 'at most', issue.maximum);
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    default:
      return 'is not valid';
  }
}

function boundWords(origin: string, bound: string, limit: number | bigint): string {
  const unit = UNITS[origin];
  return unit === undefined ? `must be ${bound} ${limit}` : `must have ${bound} ${limit}${unit}`;
}
