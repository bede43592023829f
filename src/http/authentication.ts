import type { Context, MiddlewareHandler } from 'hono';
import { GatewayError } from '../errors.js';
import type { AccessTokens } from '../site/access/access-tokens.js';
import type { Denials } from '../site/access/denials.js';
import type { FailedLogins, LoginAttempt } from '../site/access/failed-logins.js';
import type { Devices } from '../site/devices.js';
import { actorOf, addressOf, requestDetails } from './actor.js';
import { addStandingCheck, type HttpEnv } from './http-env.js';

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const BEARER = /^Bearer +(\S+)$/i;
const CHALLENGE = 'Basic realm="care-home-gateway", charset="UTF-8"';
/** RFC 7617, 2; the scheme is case-insensitive (RFC 9110, 11.1). */
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

export interface Authenticators {
  readonly accessTokens: AccessTokens;
  readonly devices: Devices;
  readonly failedLogins: FailedLogins;
  readonly denials: Denials;
}

/**
 * Requires a valid access token. A valid token that the gateway generated never waits (`FailedLogins`).
 *
 * A request without a token guesses nothing and is not counted.
 */
export function authentication(services: Authenticators): MiddlewareHandler<HttpEnv> {
  const { accessTokens } = services;
  return async (c, next) => {
    const token = BEARER.exec(c.req.header('Authorization') ?? '')?.[1];
    if (token === undefined) throw unauthenticated('An access token is required.');
    const principal = accessTokens.authenticateBearer(token);
    const isValid = principal?.type === 'token';
    const isAdmitted = judge(c, services, { secret: token, isValid });
    if (!isValid || !isAdmitted) throw invalidToken();
    c.set('caller', principal);
    addStandingCheck(c, () => {
      const now = accessTokens.authenticateBearer(token);
      if (now?.type !== 'token') throw invalidToken();
      c.set('caller', now);
    });
    await next();
  };
}

/** Like `authentication`, but treats an invalid token as no token: a probe must not break. */
export function optionalAuthentication(services: Authenticators): MiddlewareHandler<HttpEnv> {
  const authenticate = authentication(services);
  return async (c, next) => {
    if (c.req.header('Authorization') !== undefined) {
      try {
        await authenticate(c, () => Promise.resolve());
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
      }
    }
    await next();
  };
}

/**
 * Admits only a device that sends its id and secret by HTTP Basic, and only on its own path: any other
 * id gets 403, whether or not such a device exists.
 */
export function deviceAuthentication(services: Authenticators): MiddlewareHandler<HttpEnv> {
  const { devices } = services;
  return async (c, next) => {
    c.set('challenge', CHALLENGE);
    const encoded = BASIC.exec(c.req.header('Authorization') ?? '')?.[1];
    if (encoded === undefined) throw unauthenticated("A device's id and secret are required.");
    const { id, secret } = credentialsOf(encoded);
    const device = devices.authenticate(id, secret);
    const isAdmitted = judge(c, services, { secret, isValid: device !== undefined });
    if (device === undefined || !isAdmitted) throw invalidCredentials();
    c.set('device', device);
    addStandingCheck(c, () => {
      if (devices.authenticate(device.id, secret) === undefined) throw invalidCredentials();
    });
    if (c.req.param('deviceId')?.toLowerCase() !== device.id) {
      throw new GatewayError('forbidden', 'A device may do this for itself only.');
    }
    await next();
  };
}

/**
 * Whether the login is admitted; a denied login is noted for the audit trail.
 *
 * @throws GatewayError `too-many-requests` for an ignored login (`LoginVerdict`)
 */
function judge(
  c: Context<HttpEnv>,
  { failedLogins, denials }: Authenticators,
  attempt: Omit<LoginAttempt, 'address'>,
): boolean {
  const { result, waitMs } = failedLogins.judge({ address: addressOf(c) ?? '', ...attempt });
  if (result === 'admitted') return true;
  denials.addFailedLogin(actorOf(c), requestDetails(c));
  if (result === 'failed') return false;
  throw new GatewayError('too-many-requests', 'Too many invalid credentials; wait.', {
    retryAfterMs: waitMs,
  });
}

function invalidToken(): GatewayError {
  return unauthenticated('The access token is not valid.');
}

function invalidCredentials(): GatewayError {
  return unauthenticated('The id or the secret is not valid.');
}

function unauthenticated(detail: string): GatewayError {
  return new GatewayError('unauthenticated', detail);
}

/** The id (in lower case) ends at the first colon (RFC 7617, 2); the secret is compared as bytes. */
function credentialsOf(encoded: string): { id: string; secret: Uint8Array } {
  const bytes = Buffer.from(encoded, 'base64');
  const colon = bytes.indexOf(':');
  const end = colon === -1 ? bytes.length : colon;
  return { id: bytes.toString('utf8', 0, end).toLowerCase(), secret: bytes.subarray(end + 1) };
}
