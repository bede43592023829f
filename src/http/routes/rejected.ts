import { createRoute, z } from '@hono/zod-openapi';
import { permits } from '../../domain/grants.js';
import { formatTime } from '../../domain/time.js';
import type { InvalidPublishRecord } from '../../site/alarms/invalid-publish-list.js';
import type { RouteServices } from '../dependencies.js';
import { jsonResponse } from '../documents/openapi.js';
import { callerOf, type HttpApp } from '../http-env.js';
import { EXAMPLE_ID, idSchema, locationPathSchema, timestampSchema } from '../schemas/common.js';

const invalidPublishSchema = z
  .object({
    deviceId: idSchema,
    reason: z.string().openapi({ example: 'unknown-kind' }),
    topic: z.string().openapi({ example: `devices/${EXAMPLE_ID}/alarms` }),
    base64: z.base64().openapi({ example: 'eyJraW5kIjoiZmVsbCJ9' }),
    receivedAt: timestampSchema,
  })
  .openapi('RejectedPublish');

/** Renders an invalid publish for responses, with the field names of the `rejected` topics. */
function invalidPublishView(record: InvalidPublishRecord): z.infer<typeof invalidPublishSchema> {
  const { deviceId, reason, topic, base64, receivedAtMs } = record;
  return { deviceId, reason, topic, base64, receivedAt: formatTime(receivedAtMs) };
}

const list = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/rejected',
  operationId: 'listRejectedPublishes',
  summary: 'List the publishes that could not be used, newest first',
  tags: ['Devices'],
  request: { params: locationPathSchema },
  responses: { 200: jsonResponse('The newest of them.', z.array(invalidPublishSchema)) },
});

/** Invalid publishes of a location's devices (docs/reference/contract.md, 3). */
export function registerRejected(app: HttpApp, services: RouteServices): void {
  const { invalidPublishes, access } = services;

  app.openapi({ ...list, middleware: [access.partOfLocation('viewer')] }, async (c) => {
    const { locationId } = c.req.valid('param');
    const { grants } = callerOf(c);
    const records = await invalidPublishes.list(locationId);
    // The group at that time counts: only callers who may see that group see the publish.
    const visible = records.filter(({ groupId }) =>
      permits(grants, 'viewer', { locationId, groupId }),
    );
    return c.json(visible.map(invalidPublishView), 200);
  });
}
