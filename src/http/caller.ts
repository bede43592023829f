/**
 * Who calls a route: an access token, a device, or nobody; and as whom the audit trail names the caller.
 *
 * A call is checked when it arrives, after its body (the caller decides how long that takes), and at the moment of its
 * change, which may wait for others. Each time, the credential is read again, and all that was required is required again.
 */

import { type Grant, permits, type Rank, type Scope } from '../domain/grants.js';
import type { Device } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { FailedLogins } from '../site/access/failed-logins.js';
import type { Actor } from '../site/audit-trail.js';
import { actorOf, addressOf, type HttpContext, requestDetails } from './frame.js';
import type { HttpServices } from './services.js';

/** RFC 6750, 2.1; schemes are case-insensitive (RFC 9110, 11.1). */
const BEARER = /^Bearer +(\S+)$/i;
/** RFC 7617, 2. */
const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;
const BASIC_CHALLENGE = 'Basic realm="care-home-gateway", charset="UTF-8"';

/** An access token. */
export interface Token {
  readonly id: string;
  readonly grants: readonly Grant[];
}

/** Looks again who asks: the credential may have ended, or the token may have other grants. */
export type Identity = () => { readonly token?: Token; readonly device?: Device };

/** Of a request that needs no credential. */
export const nobody: Identity = () => ({});

/** Reads credentials. A request without one guesses nothing, and is not counted as a failed login. */
export class Callers {
  readonly #services: HttpServices;
  readonly #failedLogins: FailedLogins;

  constructor(services: HttpServices, failedLogins: FailedLogins) {
    this.#services = services;
    this.#failedLogins = failedLogins;
  }

  /** @throws GatewayError `unauthenticated`, `too-many-requests` */
  token(c: HttpContext): Identity {
    const { accessTokens } = this.#services;
    const secret = BEARER.exec(c.req.header('Authorization') ?? '')?.[1];
    if (secret === undefined) throw unauthenticated('An access token is required.');
    const read = () => accessTokens.byBearer(secret, addressOf(c) ?? '');
    const found = read();
    this.#admit(c, secret, found !== undefined, 'The access token is not valid.');
    c.set('principal', found && { type: 'access-token', id: found.id });
    return () => {
      const token = read();
      if (token === undefined) throw unauthenticated('The access token is not valid.');
      return { token };
    };
  }

  /** Like `token`, but takes an invalid token for none: a probe must not break. */
  tokenOrNobody(c: HttpContext): Identity {
    if (c.req.header('Authorization') === undefined) return nobody;
    try {
      return this.token(c);
    } catch (error) {
      if (error instanceof GatewayError) return nobody;
      throw error;
    }
  }

  /** A device that sends its id and secret by HTTP Basic. @throws GatewayError as `token` */
  device(c: HttpContext): Identity {
    const { model } = this.#services;
    c.set('challenge', BASIC_CHALLENGE);
    const encoded = BASIC.exec(c.req.header('Authorization') ?? '')?.[1];
    if (encoded === undefined) throw unauthenticated("A device's id and secret are required.");
    const { id, secret } = credentialsOf(encoded);
    const read = () => model.authenticated(id, secret);
    const isValid = read() !== undefined;
    this.#admit(c, secret, isValid, 'The id or the secret is not valid.');
    c.set('principal', { type: 'device', id });
    return () => {
      const device = read();
      if (device === undefined) throw unauthenticated('The id or the secret is not valid.');
      return { device };
    };
  }

  /** Judges a login; a denied one is noted for the audit trail. */
  #admit(c: HttpContext, secret: string | Uint8Array, isValid: boolean, detail: string): void {
    const attempt = { address: addressOf(c) ?? '', secret, isValid };
    const { result, waitMs } = this.#failedLogins.judge(attempt);
    if (result === 'admitted') return;
    this.#services.denials.addFailedLogin(actorOf(c), requestDetails(c));
    if (result === 'failed') throw unauthenticated(detail);
    throw new GatewayError('too-many-requests', 'Too many invalid credentials; wait.', {
      retryAfterMs: waitMs,
    });
  }
}

/** Who calls a route, and what was required of the caller so far. */
export class Caller {
  readonly #c: HttpContext;
  readonly #identity: Identity;
  readonly #required: (() => void)[] = [];
  readonly #requiredOfChange: (() => void)[] = [];
  #now: ReturnType<Identity>;

  constructor(c: HttpContext, identity: Identity) {
    this.#c = c;
    this.#identity = identity;
    this.#now = identity();
  }

  /** Whether a valid access token was shown. */
  get hasToken(): boolean {
    return this.#now.token !== undefined;
  }

  /** @throws GatewayError `unauthenticated` on a route that needs no token */
  get token(): Token {
    if (this.#now.token !== undefined) return this.#now.token;
    throw unauthenticated('An access token is required.');
  }

  /** The grants of the access token; none if none was shown. */
  get grants(): readonly Grant[] {
    return this.#now.token?.grants ?? [];
  }

  /** @throws GatewayError `unauthenticated` on a route that is not for devices */
  get device(): Device {
    if (this.#now.device !== undefined) return this.#now.device;
    throw unauthenticated("A device's id and secret are required.");
  }

  /** The author of a change, checked once more when the change is made. */
  get actor(): Actor {
    const precondition = () => {
      this.checkAgain();
      for (const requirement of this.#requiredOfChange) requirement();
    };
    return { ...actorOf(this.#c), precondition };
  }

  /** Requires something now, and each time that the call is checked again. */
  must(requirement: () => void): void {
    requirement();
    this.#required.push(requirement);
  }

  /**
   * Requires the role over a scope that the body refers to, before it is looked up.
   *
   * A scope whose group is null is outside all groups; no grant on a group covers it.
   *
   * @throws GatewayError `forbidden`
   */
  mustHave(role: Rank, scope: Scope): void {
    this.must(() => requirePermission(permits(this.grants, role, scope)));
  }

  /** Requires something at the moment of the change only. */
  mustAtChange(requirement: () => void): void {
    this.#requiredOfChange.push(requirement);
  }

  /** @throws GatewayError what reading the credential and `must` may throw */
  checkAgain(): void {
    this.#now = this.#identity();
    for (const requirement of this.#required) requirement();
  }
}

/** @throws GatewayError `forbidden` */
export function requirePermission(isPermitted: boolean): void {
  if (!isPermitted) throw noGrant();
}

export function noGrant(): GatewayError {
  return new GatewayError('forbidden', 'The access token has no grant for this.');
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
