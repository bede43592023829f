import { createRoute, z } from '@hono/zod-openapi';
import { formatTime } from '../../domain/time.js';
import type { RouteServices } from '../dependencies.js';
import { jsonResponse } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import { idSchema, locationPathSchema, timestampSchema } from '../schemas/common.js';

const namedSchema = z.object({ id: idSchema, name: z.string().openapi({ example: 'Room 7' }) });

const silentDeviceSchema = z
  .object({
    device: namedSchema,
    room: namedSchema.nullable(),
    group: namedSchema.nullable(),
    since: timestampSchema,
    lastSeenAt: timestampSchema,
  })
  .openapi('SilentDevice');

const list = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/supervision',
  operationId: 'listSilentDevices',
  summary: 'List the devices from which nothing comes any more',
  description:
    'Those that the access token covers; the one that has been silent for longest first.',
  tags: ['Devices'],
  request: { params: locationPathSchema },
  responses: { 200: jsonResponse('The silent devices.', z.array(silentDeviceSchema)) },
});

/** Silent devices (docs/reference/contract.md, 3, supervision). */
export function registerSupervision(app: HttpApp, services: RouteServices): void {
  const { access, model, supervision } = services;

  app.openapi({ ...list, middleware: [access.partOfLocation('viewer')] }, (c) => {
    const { locationId } = c.req.valid('param');
    const covered = new Set(access.devicesOf(c, locationId).map(({ id }) => id));
    const views = supervision.list().flatMap(({ deviceId, sinceMs, lastSeenAtMs }) => {
      const context = covered.has(deviceId) ? model.context(deviceId) : undefined;
      if (context === undefined) return [];
      const { device, room, group } = context;
      const times = { since: formatTime(sinceMs), lastSeenAt: formatTime(lastSeenAtMs) };
      return [
        {
          device: named(device),
          room: room && named(room),
          group: group && named(group),
          ...times,
        },
      ];
    });
    return c.json(views, 200);
  });
}

function named({ id, name }: z.infer<typeof namedSchema>): z.infer<typeof namedSchema> {
  return { id, name };
}
