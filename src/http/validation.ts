import type { Hook } from '@hono/zod-openapi';
import type { z } from 'zod';
import type { FieldFault } from '../errors.js';
import type { HttpEnv } from './http-env.js';
import { invalidRequest } from './problem.js';

/**
 * What the routes' validators do with a request that does not match its schema.
 *
 * @throws GatewayError `invalid-request` with a fault for each issue
 */
export const rejectInvalid: Hook<unknown, HttpEnv, string, undefined> = (result) => {
  if (!result.success) throw invalidRequest(result.error.issues.flatMap(faultsOf));
  return undefined;
};

/** An unknown field is reported where it stands, not as a fault of the object around it. */
function faultsOf(issue: z.core.$ZodIssue): FieldFault[] {
  const isUnknownField = issue.code === 'unrecognized_keys';
  const message = isUnknownField ? 'is not a known field' : issue.message;
  const paths = isUnknownField ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
  return paths.map((path) => ({ path: path.map(String).join('.'), message }));
}
