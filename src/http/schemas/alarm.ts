import { z } from '@hono/zod-openapi';
import { ALARM_KINDS } from '../../domain/alarms.js';
import { formatTime } from '../../domain/times.js';
import type { AlarmRecord } from '../../site/alarm-history.js';
import type { FootageUrls } from '../http-env.js';
import { idSchema, instantSchema, timestampSchema } from './common.js';

const MAX_PAGE = 100;
const ORDERS = ['asc', 'desc'] as const;
const kindSchema = z.enum(ALARM_KINDS);

/** A parameter given twice arrives as a list, which says nothing about which one was meant. */
const parameter = z.string('must be given once');

/** Specification 4, "Alarm events of a device"; unknown parameters are ignored. */
export const alarmQuerySchema = z.object({
  before: instantParameter('Only alarms detected before this time.'),
  after: instantParameter('Only alarms detected after this time.'),
  order: parameter
    .pipe(z.enum(ORDERS))
    .default('desc')
    .openapi({ type: 'string', enum: [...ORDERS], default: 'desc' }),
  limit: parameter
    .refine(
      (text) => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= MAX_PAGE,
      `must be an integer from 1 to ${MAX_PAGE}`,
    )
    .transform(Number)
    .default(MAX_PAGE)
    .openapi({ type: 'integer', minimum: 1, maximum: MAX_PAGE, default: MAX_PAGE }),
  kinds: parameter
    .transform((text) => text.split(','))
    .pipe(z.array(kindSchema))
    .transform((kinds) => [...new Set(kinds)])
    .default([...ALARM_KINDS])
    .openapi({
      type: 'string',
      description: `Comma-separated: ${ALARM_KINDS.join(', ')}. Without it, all kinds.`,
      example: 'fall,helpCall',
    }),
  cursor: parameter.optional().openapi({ description: '`nextCursor` of the page before.' }),
});

/** The `+` of an offset that was not escaped arrives as a space. */
function instantParameter(description: string) {
  return parameter
    .transform((text) => text.replace(/ (?=\d\d:\d\d$)/, '+'))
    .pipe(instantSchema)
    .optional()
    .openapi({ type: 'string', format: 'date-time', description });
}

const urlSchema = z.url().nullable().openapi({ description: 'Signed, valid for 10 minutes.' });

const alarmSchema = z
  .object({
    id: idSchema,
    detectedAt: timestampSchema,
    kind: kindSchema,
    footage: z.object({ video: urlSchema, audio: urlSchema }),
  })
  .openapi('Alarm');

const placedAlarmSchema = alarmSchema
  .extend({
    deviceId: idSchema,
    roomId: idSchema.nullable().openapi({ description: 'At the time of the alarm.' }),
  })
  .openapi('LocationAlarm');

const nextCursor = z
  .string()
  .nullable()
  .openapi({ description: 'Null on the last page; until then a page may have less than `limit`.' });

export const deviceAlarmPageSchema = z
  .object({ nextCursor, events: z.array(alarmSchema) })
  .openapi('AlarmPage');

export const locationAlarmPageSchema = z
  .object({ nextCursor, events: z.array(placedAlarmSchema) })
  .openapi('LocationAlarmPage');

/** An alarm as the listing of its device shows it. */
export function alarmView(record: AlarmRecord, urls: FootageUrls): z.infer<typeof alarmSchema> {
  return {
    id: record.id,
    detectedAt: formatTime(record.detectedAtMs),
    kind: record.kind,
    footage: { video: urls.video, audio: urls.audio },
  };
}

/** An alarm as the listing of its location shows it. */
export function placedAlarmView(
  record: AlarmRecord,
  urls: FootageUrls,
): z.infer<typeof placedAlarmSchema> {
  return { ...alarmView(record, urls), deviceId: record.deviceId, roomId: record.roomId };
}
