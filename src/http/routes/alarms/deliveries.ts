import { createRoute, z } from '@hono/zod-openapi';
import { formatTime } from '../../../domain/time.js';
import { GatewayError } from '../../../errors.js';
import { DELIVERY_STATES } from '../../../site/alarms/alarm-history.js';
import { destinationOf } from '../../../site/alarms/destinations.js';
import { noGrant } from '../../access.js';
import { scopeOf } from '../../alarms/alarm-page.js';
import type { RouteServices } from '../../dependencies.js';
import { jsonResponse } from '../../documents/openapi.js';
import type { HttpApp } from '../../http-env.js';
import { deviceQuerySchema } from '../../schemas/alarm.js';
import { alarmPathSchema } from '../../schemas/alarm-state.js';
import { timestampSchema } from '../../schemas/common.js';
import { destinationSchema } from '../../schemas/destination.js';

const deliveriesSchema = z
  .object({
    deliveries: z.array(
      z.object({
        destination: destinationSchema,
        state: z.enum(DELIVERY_STATES),
        at: timestampSchema.openapi({
          description: 'When it was acknowledged, expired or dropped; of a queued one, received.',
        }),
      }),
    ),
  })
  .openapi('AlarmDeliveries');

const list = createRoute({
  method: 'get',
  path: '/care-homes/{locationId}/alarms/{alarmId}/deliveries',
  operationId: 'listAlarmDeliveries',
  summary: 'Prove which destination had an alarm when',
  description:
    'Of persistent sessions, bridges and webhooks, for as long as the alarm is in the history. What a destination has acknowledged is `delivered`.',
  tags: ['Alarms'],
  request: { params: alarmPathSchema, query: deviceQuerySchema },
  responses: { 200: jsonResponse('What became of the alarm.', deliveriesSchema) },
});

/** Proof of delivery (docs/reference/contract.md, 2). */
export function registerDeliveries(app: HttpApp, services: RouteServices): void {
  const { access, history } = services;

  app.openapi({ ...list, middleware: [access.partOfLocation('viewer')] }, async (c) => {
    const { locationId, alarmId } = c.req.valid('param');
    const alarm = { locationId, alarmId, deviceId: c.req.valid('query').device };
    const { groupIds } = scopeOf(c, locationId);
    if (groupIds !== undefined) {
      const record = await history.find(alarm);
      if (!groupIds.includes(record?.group?.id ?? '')) throw noGrant();
    }
    const found = await history.deliveries(alarm);
    if (found === undefined) {
      throw new GatewayError('alarm-not-found', 'The location has no such alarm.');
    }
    const deliveries = found.map(({ destination, state, atMs }) => {
      return { destination: destinationOf(services, destination), state, at: formatTime(atMs) };
    });
    return c.json({ deliveries }, 200);
  });
}
