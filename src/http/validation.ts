import type { Hook } from '@hono/zod-openapi';
import { fieldFaults } from '../field-faults.js';
import type { HttpEnv } from './http-env.js';
import { invalidRequest } from './problem.js';

/**
 * Rejects a request that does not match its route's schema.
 *
 * @throws GatewayError `invalid-request` with a fault for each issue
 */
export const rejectInvalid: Hook<unknown, HttpEnv, string, undefined> = (result) => {
  if (!result.success) throw invalidRequest(fieldFaults(result.error, 'is not a known field'));
  return undefined;
};
