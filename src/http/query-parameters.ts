import { type RouteConfig, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { HttpApp, HttpEnv } from './http-env.js';
import { invalidRequest } from './problem.js';

type Guard = MiddlewareHandler<HttpEnv>;
type Route = RouteConfig & { readonly middleware?: Guard | readonly Guard[] };

/**
 * Makes every route registered from now on reject query parameters that it does not have: like an
 * unknown field they are typos, and a filter that is ignored answers with everything (CONTRACT 2, 400
 * invalid query). The check comes after the route's own guards, because a caller without a grant gets
 * 403 whatever he asks for. Added at the registration, so that no route can forget it.
 */
export function refuseUnknownParameters(app: HttpApp): void {
  app.openapi = new Proxy(app.openapi, {
    apply: (register, owner, [route, ...rest]: [Route, ...unknown[]]) => {
      const middleware = [route.middleware ?? [], onlyParametersOf(route)].flat();
      return Reflect.apply(register, owner, [{ ...route, middleware }, ...rest]);
    },
  });
}

/** @throws GatewayError `invalid-request` with a fault for each other parameter */
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
