import { z } from '@hono/zod-openapi';
import { ALARM_KINDS } from '../../domain/alarms.js';
import { idSchema } from './common.js';

/** Unknown fields are rejected: they are typos. */
export const newTestAlarmSchema = z
  .strictObject({
    kind: z.enum(ALARM_KINDS).default('helpCall').openapi({ example: 'helpCall' }),
  })
  .openapi('NewTestAlarm');

export const testAlarmSchema = z.object({ id: idSchema }).openapi('TestAlarm');
