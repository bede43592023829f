import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Grant } from '../domain/grants.js';
import type { Device } from '../domain/site.js';
import { GatewayError } from '../errors.js';

/** The access token of a request. */
export interface Caller {
  readonly id: string;
  readonly grants: readonly Grant[];
}

/** @throws GatewayError when the request is not, or no longer, permitted */
export type StandingCheck = (c: Context<HttpEnv>) => void;

/** Values that the handlers of one request share. */
export interface HttpEnv {
  Bindings: HttpBindings & {
    /** Lets the body take as long as a large upload over a slow line. */
    readonly expectLongBody?: () => void;
  };
  Variables: {
    requestId: string;
    caller: Caller | undefined;
    /** The calling device, on the routes for devices. */
    device: Device | undefined;
    /** `WWW-Authenticate` of a 401 (RFC 9110, 11.6.1); by default for an access token. */
    challenge: string | undefined;
    /** Checks that the request has passed; they run again once its body is read. */
    standingChecks: readonly StandingCheck[] | undefined;
  };
}

export type HttpApp = OpenAPIHono<HttpEnv>;

/**
 * The calling access token.
 *
 * @throws GatewayError `unauthenticated` if a route is ever reached without authentication
 */
export function callerOf(c: Context<HttpEnv>): Caller {
  const caller = c.get('caller');
  if (caller === undefined) {
    throw new GatewayError('unauthenticated', 'An access token is required.');
  }
  return caller;
}

/**
 * The calling device.
 *
 * @throws GatewayError `unauthenticated` if a route is ever reached without authentication
 */
export function deviceOf(c: Context<HttpEnv>): Device {
  const device = c.get('device');
  if (device === undefined) {
    throw new GatewayError('unauthenticated', "A device's id and secret are required.");
  }
  return device;
}

/** Has `checkAgain` repeat a check that was already made. */
export function addStandingCheck(c: Context<HttpEnv>, check: StandingCheck): void {
  c.set('standingChecks', [...(c.get('standingChecks') ?? []), check]);
}

/**
 * Checks again that the request is permitted.
 *
 * Callers decide how long a body or a download takes. Meanwhile their credential may have ended, or the resource may have
 * moved out of its reach.
 *
 * @throws GatewayError the errors of the route's guards
 */
export function checkAgain(c: Context<HttpEnv>): void {
  for (const check of c.get('standingChecks') ?? []) check(c);
}

/** The path of a request as sent, without the query. */
export function pathOf(c: Context<HttpEnv>): string {
  return new URL(c.req.url).pathname;
}
