import type { Context, MiddlewareHandler } from 'hono';
import type { HttpEnv, StandingCheck } from './http-env.js';

/** Makes a guard of a check that `checkAgain` repeats. */
export function standingGuard(check: StandingCheck): MiddlewareHandler<HttpEnv> {
  return (c, next) => {
    check(c);
    addStandingCheck(c, check);
    return next();
  };
}

/** Has `checkAgain` repeat a check that was already made. */
export function addStandingCheck(c: Context<HttpEnv>, check: StandingCheck): void {
  c.set('standingChecks', [...(c.get('standingChecks') ?? []), check]);
}

/**
 * Checks again that the request is permitted.
 *
 * Callers decide how long a body takes. Meanwhile their credential may have ended, or the resource may have
 * moved out of its reach.
 *
 * @throws GatewayError the errors of the route's guards
 */
export function checkAgain(c: Context<HttpEnv>): void {
  for (const check of c.get('standingChecks') ?? []) check(c);
}
