import { z } from '@hono/zod-openapi';
import { ALARM_KINDS } from '../../domain/alarms.js';
import { formatTime } from '../../domain/times.js';
import type { AlarmRecord } from '../../site/alarm-history.js';
import type { FootageUrls } from '../../site/footage.js';
import { idSchema, timestampSchema } from './common.js';
import {
  afterParameter,
  beforeParameter,
  choiceParameter,
  cursorParameter,
  limitParameter,
  nextCursorSchema,
  orderParameter,
} from './listing.js';

const kindSchema = z.enum(ALARM_KINDS);

/** Specification 4, "Alarm events of a device". */
export const alarmQuerySchema = z.object({
  before: beforeParameter('Only alarms detected before this time.'),
  after: afterParameter('Only alarms detected after this time.'),
  order: orderParameter,
  limit: limitParameter,
  kinds: choiceParameter(ALARM_KINDS, 'fall,helpCall'),
  cursor: cursorParameter,
});

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

export const deviceAlarmPageSchema = z
  .object({ nextCursor: nextCursorSchema, events: z.array(alarmSchema) })
  .openapi('AlarmPage');

export const locationAlarmPageSchema = z
  .object({ nextCursor: nextCursorSchema, events: z.array(placedAlarmSchema) })
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
  return {
    ...alarmView(record, urls),
    deviceId: record.device.id,
    roomId: record.room?.id ?? null,
  };
}
