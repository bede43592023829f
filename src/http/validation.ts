import { type Hook, type RouteConfig, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import { fieldFaults } from '../domain/field-faults.js';
import type { HttpApp, HttpEnv } from './http-env.js';
import { invalidRequest } from './problem.js';

type Guard = MiddlewareHandler<HttpEnv>;
type Route = RouteConfig & { readonly middleware?: Guard | readonly Guard[] };

/**
 * Rejects a request that does not match its route's schema.
 *
 * @throws GatewayError `invalid-request` with a fault for each issue
 */
export const rejectInvalid: Hook<unknown, HttpEnv, string, undefined> = (result) => {
  if (!result.success) throw invalidRequest(fieldFaults(result.error, 'is not a known field'));
  return undefined;
};

/**
 * Makes every route registered from now on reject unknown query parameters.
 *
 * Unknown parameters are typos, and an ignored filter would return everything (docs/reference/contract.md, 2, 400 invalid
 * query). The check comes after the route's own guards, because a caller without a grant always gets 403.
 * No route can forget it, because registration adds it.
 */
export function refuseUnknownParameters(app: HttpApp): void {
  app.openapi = new Proxy(app.openapi, {
    apply: (register, owner, [route, ...rest]: [Route, ...unknown[]]) => {
      const middleware = [route.middleware ?? [], onlyParametersOf(route)].flat();
      return Reflect.apply(register, owner, [{ ...route, middleware }, ...rest]);
    },
  });
}

/** @throws GatewayError `invalid-request` with a fault for each unknown parameter */
function onlyParametersOf({ request }: Route): Guard {
  const query = request?.query;
  const known = new Set(query instanceof z.ZodObject ? Object.keys(query.shape) : []);
  return async (c, next) => {
    const names = new Set(new URL(c.req.url).searchParams.keys());
    const faults = [...names]
      .filter((name) => !known.has(name))
      .map((name) => ({ path: name, message: 'is not a known parameter' }));
    if (faults.length > 0) throw invalidRequest(faults);
    await next();
  };
}
