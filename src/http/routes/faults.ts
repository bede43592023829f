import { createRoute, z } from '@hono/zod-openapi';
import { GatewayError } from '../../errors.js';
import { actorOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import { noContent, problems } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';

const acknowledge = createRoute({
  method: 'post',
  path: '/faults/{code}/acknowledge',
  operationId: 'acknowledgeFault',
  summary: 'Acknowledge a fault that stays until an administrator has seen it',
  tags: ['Operation'],
  request: { params: z.object({ code: z.string() }) },
  responses: { 204: noContent, ...problems.resource, ...problems.store },
});

/** Faults that an administrator acknowledges. */
export function registerFaults(app: HttpApp, { access, health, audit, now }: RouteServices): void {
  app.openapi({ ...acknowledge, middleware: [access.admin()] }, async (c) => {
    const { code } = c.req.valid('param');
    const faults = health
      .faults()
      .filter((fault) => fault.code === code && fault.acknowledge !== undefined);
    if (faults.length === 0) {
      throw new GatewayError('fault-not-found', 'There is no such fault to acknowledge.');
    }
    await audit.record(
      faults.map(({ message }) => ({
        action: 'fault.acknowledged',
        actor: actorOf(c),
        atMs: now(),
        locationId: null,
        resourceId: code,
        details: { message },
      })),
    );
    for (const fault of faults) fault.acknowledge?.();
    return c.body(null, 204);
  });
}
