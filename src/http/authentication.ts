import type { Context, MiddlewareHandler } from 'hono';
import { looksGenerated } from '../domain/credentials.js';
import { GatewayError } from '../errors.js';
import type { AccessTokens } from '../site/access-tokens.js';
import type { Denials } from '../site/denials.js';
import { actorOf, addressOf, requestDetails } from './actor.js';
import type { FailureThrottle } from './failure-throttle.js';
import type { HttpEnv } from './http-env.js';
import { addStandingCheck } from './standing-checks.js';

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const BEARER = /^Bearer +(\S+)$/i;

/**
 * Requires a valid access token. An address with too many invalid ones waits, except with valid ones
 * that the gateway generated: others behind the same address must not be locked out. An admin token
 * made up by a person waits all the same, or it could be guessed at full speed. A request without a
 * token guesses nothing and is not counted.
 */
export function authentication(
  accessTokens: AccessTokens,
  throttle: FailureThrottle,
  denials: Denials,
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const token = BEARER.exec(c.req.header('Authorization') ?? '')?.[1];
    if (token === undefined) {
      throw new GatewayError('unauthenticated', 'An access token is required.');
    }
    if (!looksGenerated(token)) enforceThrottle(c, throttle);
    const principal = accessTokens.authenticateBearer(token);
    if (principal?.type !== 'token') {
      denials.addFailedLogin(actorOf(c), requestDetails(c));
      enforceThrottle(c, throttle);
      throttle.add(addressOf(c) ?? '');
      throw invalidToken();
    }
    c.set('caller', { id: principal.id, grants: principal.grants });
    addStandingCheck(c, () => {
      if (accessTokens.principal(principal.id) === undefined) throw invalidToken();
    });
    await next();
  };
}

/**
 * Lets an address with too many failures wait.
 *
 * @throws GatewayError `too-many-requests`
 */
export function enforceThrottle(c: Context<HttpEnv>, throttle: FailureThrottle): void {
  const waitMs = throttle.waitMs(addressOf(c) ?? '');
  if (waitMs === 0) return;
  c.header('Retry-After', String(Math.ceil(waitMs / 1000)));
  throw new GatewayError('too-many-requests', 'Too many invalid credentials; wait.');
}

function invalidToken(): GatewayError {
  return new GatewayError('unauthenticated', 'The access token is not valid.');
}
