import { createRoute, z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/time.js';
import type { DrillReport } from '../../site/alarms/drills.js';
import { actorOf } from '../actor.js';
import type { RouteServices } from '../dependencies.js';
import { jsonResponse, optionalJsonRequestBody, problems } from '../documents/openapi.js';
import { callerOf, type HttpApp } from '../http-env.js';
import {
  EXAMPLE_ID,
  idSchema,
  locationPathSchema,
  timestampSchema,
  uuidSchema,
} from '../schemas/common.js';
import { destinationSchema } from '../schemas/destination.js';

/** Unknown fields are rejected: they are typos. */
const newDrillSchema = z
  .strictObject({
    deviceId: uuidSchema.optional().openapi({
      type: 'string',
      format: 'uuid',
      description: 'The device whose alarm it is; left out: the first of the location.',
    }),
  })
  .openapi('NewDrill', { example: {} });

const namedSchema = z.object({
  id: z.string().openapi({ example: EXAMPLE_ID }),
  name: z.string().openapi({ example: 'Bed 2' }),
});

const drillSchema = z
  .object({
    id: idSchema,
    at: timestampSchema,
    by: namedSchema.nullable().openapi({
      description: 'The access token that asked for it; null: the schedule.',
      example: { id: 'admin', name: 'admin' },
    }),
    state: z.enum(['running', 'passed', 'failed']).openapi({
      description:
        'Destinations have 60 s. `passed` once all have acknowledged, `failed` if one of them has not by then, or there is none.',
    }),
    alarmId: idSchema,
    device: namedSchema,
    destinations: z.array(
      z.object({
        destination: destinationSchema,
        acknowledgedAfterMs: z
          .int()
          .nullable()
          .openapi({ description: 'Null: not within 60 s, or not yet.', example: 42 }),
      }),
    ),
    silent: z.array(namedSchema).openapi({ description: 'The devices that were silent.' }),
  })
  .openapi('Drill');

const path = '/care-homes/{locationId}/drills';
const tags = ['Drills'];

const begin = createRoute({
  method: 'post',
  path,
  operationId: 'beginDrill',
  summary: 'Try whether alarms arrive at every destination',
  description:
    'Raises a `helpCall` with `"test": true` on the way of every alarm. Answered once it is stored; who has acknowledged it is in the list.',
  tags,
  request: { params: locationPathSchema, body: optionalJsonRequestBody(newDrillSchema) },
  responses: {
    202: jsonResponse('The drill.', drillSchema),
    ...problems.conflict,
  },
});

const list = createRoute({
  method: 'get',
  path,
  operationId: 'listDrills',
  summary: 'List the newest 100 drills of a location, the newest first',
  tags,
  request: { params: locationPathSchema },
  responses: { 200: jsonResponse('The drills.', z.array(drillSchema)) },
});

/** Drills (docs/reference/contract.md, 3). */
export function registerDrills(app: HttpApp, services: RouteServices): void {
  const { access, accessTokens, drills, readsOptionalJson } = services;

  app.openapi(
    { ...begin, middleware: [access.location('manager'), readsOptionalJson] },
    async (c) => {
      const { id } = callerOf(c);
      const by = { id, name: accessTokens.nameOf(id) };
      const { locationId } = c.req.valid('param');
      const request = { locationId, deviceId: c.req.valid('json').deviceId, actor: actorOf(c), by };
      return c.json(drillView(await drills.begin(request)), 202);
    },
  );

  app.openapi({ ...list, middleware: [access.location('viewer')] }, async (c) => {
    const reports = await drills.list(c.req.valid('param').locationId);
    return c.json(reports.map(drillView), 200);
  });
}

function drillView(report: DrillReport): z.infer<typeof drillSchema> {
  const { id, atMs, by, alarmId, device, isOver, results, silent } = report;
  const isPassed =
    results.length > 0 &&
    results.every(({ acknowledgedAfterMs }) => acknowledgedAfterMs !== undefined);
  const outcome = isPassed ? 'passed' : 'failed';
  return {
    id,
    at: formatTime(atMs),
    by,
    state: isOver ? outcome : 'running',
    alarmId,
    device,
    destinations: results.map(({ destination, acknowledgedAfterMs = null }) => {
      return { destination, acknowledgedAfterMs };
    }),
    silent: [...silent],
  };
}
