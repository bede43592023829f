import { createRoute, z } from '@hono/zod-openapi';
import { ALARM_KINDS } from '../../../domain/alarm.js';
import { actorOf } from '../../actor.js';
import type { RouteServices } from '../../dependencies.js';
import { jsonResponse, optionalJsonRequestBody } from '../../documents/openapi.js';
import type { HttpApp } from '../../http-env.js';
import { devicePathSchema, idSchema } from '../../schemas/common.js';

/** Unknown fields are rejected: they are typos. */
const newTestAlarmSchema = z
  .strictObject({
    kind: z.enum(ALARM_KINDS).default('helpCall').openapi({ example: 'helpCall' }),
  })
  .openapi('NewTestAlarm');

const testAlarmSchema = z.object({ id: idSchema }).openapi('TestAlarm');

const raise = createRoute({
  method: 'post',
  path: '/care-homes/{locationId}/devices/{deviceId}/test-alarm',
  operationId: 'raiseTestAlarm',
  summary: 'Raise an alarm as the device would, marked as a test',
  description:
    'Goes the way of every alarm, to everyone who receives those of the device: `data` has `"test": true`. Answered once it is stored.',
  tags: ['Devices'],
  request: { params: devicePathSchema, body: optionalJsonRequestBody(newTestAlarmSchema) },
  responses: { 202: jsonResponse('The id of the alarm.', testAlarmSchema) },
});

/** Test alarms, to see whether alarms arrive. */
export function registerTestAlarms(app: HttpApp, services: RouteServices): void {
  const { testAlarms, access, readsOptionalJson } = services;
  app.openapi(
    { ...raise, middleware: [access.device('manager'), readsOptionalJson] },
    async (c) => {
      const { kind } = c.req.valid('json');
      const id = await testAlarms.raise({ ...c.req.valid('param'), kind, actor: actorOf(c) });
      return c.json({ id }, 202);
    },
  );
}
