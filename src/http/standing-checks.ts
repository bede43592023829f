import type { Context, MiddlewareHandler } from 'hono';
import type { HttpEnv } from './http-env.js';

/** @throws GatewayError when the request may not be done, or not any more */
export type StandingCheck = (c: Context<HttpEnv>) => void;

/** A guard whose check holds until the request is done: `checkAgain` repeats it. */
export function standingGuard(check: StandingCheck): MiddlewareHandler<HttpEnv> {
  return (c, next) => {
    check(c);
    addStandingCheck(c, check);
    return next();
  };
}

/** For a check that has been made already, when `checkAgain` is to repeat it. */
export function addStandingCheck(c: Context<HttpEnv>, check: StandingCheck): void {
  c.set('standingChecks', [...(c.get('standingChecks') ?? []), check]);
}

/**
 * Whether the request may still be done. A caller decides how long his body takes: meanwhile his
 * credential may have ended, or what it was for may have gone out of its reach.
 *
 * @throws GatewayError as the guards of the route do
 */
export function checkAgain(c: Context<HttpEnv>): void {
  for (const check of c.get('standingChecks') ?? []) check(c);
}
