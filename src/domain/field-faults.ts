import { z } from 'zod';
import type { FieldFault } from '../errors.js';

/**
 * Describes the faults of an input, for the configuration and for requests.
 *
 * Messages are plain words and never show the value, which may be a secret.
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

// The words for every schema without its own. They are set for the whole process, because the routes'
// validators accept them in no other way.
z.config({ localeError: plainWords });

/**
 * Lists one fault for each issue; an unknown key is a fault of the key, not of the object around it.
 *
 * @param unknownKey the message for a key that the schema does not have
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
