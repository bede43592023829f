import type { Context, MiddlewareHandler } from 'hono';
import { looksGenerated } from '../domain/credentials.js';
import { GatewayError } from '../errors.js';
import { type AccessTokens, ADMIN_TOKEN_ID } from '../site/access-tokens.js';
import type { Denials } from '../site/denials.js';
import type { FailedLogins } from '../site/failed-logins.js';
import { actorOf, addressOf, requestDetails } from './actor.js';
import { addStandingCheck, type HttpEnv } from './http-env.js';

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const BEARER = /^Bearer +(\S+)$/i;

/**
 * Requires a valid access token. Who has one that the gateway generated never waits (`FailedLogins`).
 *
 * Any other can only be meant for the admin token. A request without a token guesses nothing and is
 * not counted.
 */
export function authentication(
  accessTokens: AccessTokens,
  failedLogins: FailedLogins,
  denials: Denials,
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const token = BEARER.exec(c.req.header('Authorization') ?? '')?.[1];
    if (token === undefined) {
      throw new GatewayError('unauthenticated', 'An access token is required.');
    }
    const principal = accessTokens.authenticateBearer(token);
    const { result, waitMs } = failedLogins.judge({
      ...{ address: addressOf(c) ?? '', secret: token },
      name: looksGenerated(token) ? undefined : ADMIN_TOKEN_ID,
      isValid: principal?.type === 'token',
    });
    if (principal?.type !== 'token' || result !== 'admitted') {
      denials.addFailedLogin(actorOf(c), requestDetails(c));
      if (result === 'ignored') throw tooManyFailures(c, waitMs);
      throw invalidToken();
    }
    c.set('caller', { id: principal.id, grants: principal.grants });
    addStandingCheck(c, () => {
      if (accessTokens.principal(principal.id) === undefined) throw invalidToken();
    });
    await next();
  };
}

/** The answer to a login that is ignored (`LoginVerdict`). */
export function tooManyFailures(c: Context<HttpEnv>, waitMs: number): GatewayError {
  c.header('Retry-After', String(Math.ceil(waitMs / 1000)));
  return new GatewayError('too-many-requests', 'Too many invalid credentials; wait.');
}

function invalidToken(): GatewayError {
  return new GatewayError('unauthenticated', 'The access token is not valid.');
}
