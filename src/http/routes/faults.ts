import { createRoute, z } from '@hono/zod-openapi';
import { faultWords, withoutRepeats } from '../../domain/fault.js';
import { GatewayError } from '../../errors.js';
import { actorOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import { emptyJsonRequestBody, jsonResponse, noContent } from '../documents/openapi.js';
import { callerOf, type HttpApp } from '../http-env.js';
import { answerLanguage } from '../language.js';
import { advisedFaultSchema, faultView } from '../schemas/fault.js';

const acknowledge = createRoute({
  method: 'post',
  path: '/faults/{code}/acknowledge',
  operationId: 'acknowledgeFault',
  summary: 'Acknowledge a fault that stays until an administrator has seen it',
  tags: ['Operation'],
  request: { params: z.object({ code: z.string() }), body: emptyJsonRequestBody },
  responses: { 204: noContent },
});

const list = createRoute({
  method: 'get',
  path: '/faults',
  operationId: 'listFaults',
  summary: 'List what is wrong now, with what to do about it',
  description: 'In English or German, as `Accept-Language` asks.',
  tags: ['Operation'],
  responses: { 200: jsonResponse('The present faults.', z.array(advisedFaultSchema)) },
});

/** Lists the present faults, and lets an administrator acknowledge some of them. */
export function registerFaults(app: HttpApp, services: RouteServices): void {
  const { access, health, audit, now, readsOptionalJson } = services;
  app.openapi(list, (c) => {
    const language = answerLanguage(c);
    const { grants } = callerOf(c);
    const faults = health.shown().map((fault) => ({
      ...faultView(fault, grants, access, language),
      advice: faultWords(fault, language).advice,
      acknowledgeable: fault.acknowledge !== undefined,
    }));
    return c.json(withoutRepeats(faults), 200);
  });

  app.openapi({ ...acknowledge, middleware: [access.admin(), readsOptionalJson] }, async (c) => {
    const { code } = c.req.valid('param');
    const faults = health
      .shown()
      .filter((fault) => fault.code === code && fault.acknowledge !== undefined);
    if (faults.length === 0) {
      throw new GatewayError('fault-not-found', 'There is no such fault to acknowledge.');
    }
    await audit.record(
      faults.map((fault) => ({
        action: 'fault.acknowledged',
        actor: actorOf(c),
        atMs: now(),
        locationId: null,
        resourceId: code,
        details: { message: faultWords(fault, 'en').message },
      })),
    );
    for (const fault of faults) fault.acknowledge?.();
    return c.body(null, 204);
  });
}
