import { z } from '@hono/zod-openapi';
import { ALARM_KINDS } from '../../domain/alarm.js';
import { CALENDAR_UNITS } from '../../domain/calendar.js';
import { alarmFilterQuerySchema } from './alarm.js';
import { timestampSchema } from './common.js';
import { afterParameter, beforeParameter, parameter, timeZoneParameter } from './listing.js';

export const MAX_BUCKETS = 1000;

/** The query of the counts of a location's alarms. */
export const alarmCountsQuerySchema = z.object({
  by: parameter
    .pipe(z.enum(CALENDAR_UNITS))
    .default('day')
    .openapi({ type: 'string', enum: [...CALENDAR_UNITS], default: 'day' }),
  timeZone: timeZoneParameter
    .prefault('UTC')
    .openapi({ type: 'string', default: 'UTC', example: 'Europe/Berlin' }),
  before: beforeParameter('Only alarms detected before this time. Without it, up to now.'),
  after: afterParameter(
    'Only alarms detected after this time. Without it, 30 days or 24 hours before the end.',
  ),
  ...alarmFilterQuerySchema.shape,
});

const countsSchema = z.partialRecord(z.enum(ALARM_KINDS), z.int().min(1)).openapi({
  description: 'By kind; kinds without alarms are left out.',
  example: { fall: 2, helpCall: 5 },
});

export const alarmCountsSchema = z
  .object({
    buckets: z.array(z.object({ start: timestampSchema, counts: countsSchema })).openapi({
      description: `Hours or days without alarms are in it, too. ${MAX_BUCKETS} at most.`,
    }),
  })
  .openapi('AlarmCounts');
