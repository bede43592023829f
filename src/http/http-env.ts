import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Grant } from '../domain/grants.js';
import type { Device } from '../domain/site.js';
import { GatewayError } from '../errors.js';
import type { StandingCheck } from './standing-checks.js';

/** The access token behind a request. */
export interface Caller {
  readonly id: string;
  readonly grants: readonly Grant[];
}

/** Values that the handlers of one request share. */
export interface HttpEnv {
  Bindings: HttpBindings & {
    /** The body may take as long as a large upload over a slow line does. */
    readonly expectLongBody?: () => void;
  };
  Variables: {
    requestId: string;
    caller: Caller | undefined;
    /** The asking device, on the routes for devices. */
    device: Device | undefined;
    /** `WWW-Authenticate` of a 401 (RFC 9110, 11.6.1); by default for an access token. */
    challenge: string | undefined;
    /** Checks that let the request through, to be repeated once its body is there. */
    standingChecks: readonly StandingCheck[] | undefined;
  };
}

export type HttpApp = OpenAPIHono<HttpEnv>;

/**
 * The access token that asks.
 *
 * @throws GatewayError `unauthenticated`, should a route ever be reached without authentication
 */
export function callerOf(c: Context<HttpEnv>): Caller {
  const caller = c.get('caller');
  if (caller === undefined) {
    throw new GatewayError('unauthenticated', 'An access token is required.');
  }
  return caller;
}

/**
 * The device that asks.
 *
 * @throws GatewayError `unauthenticated`, should a route ever be reached without authentication
 */
export function deviceOf(c: Context<HttpEnv>): Device {
  const device = c.get('device');
  if (device === undefined) {
    throw new GatewayError('unauthenticated', "A device's id and secret are required.");
  }
  return device;
}

/** The path of a request as it was sent, without the query. */
export function pathOf(c: Context<HttpEnv>): string {
  return new URL(c.req.url).pathname;
}
