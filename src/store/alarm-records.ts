/** How an alarm is written into the history stream, and read from it again. */

import { z } from 'zod';
import type { AlarmToRecord } from '../delivery/recorder.js';
import { ALARM_KINDS, FOOTAGE_TYPES } from '../domain/alarms.js';
import type { AlarmRecord } from '../site/alarm-history.js';

/** Beyond the columns of every alarm: what only some have, as one JSON text. */
const extrasSchema = z.object({
  footage: z.partialRecord(z.enum(FOOTAGE_TYPES), z.string()).optional(),
  reportedAt: z.string().optional(),
  data: z.string().optional(),
});

const recordSchema = z.object({
  i: z.string(),
  k: z.enum(ALARM_KINDS),
  t: z.coerce.number(),
  r: z.coerce.number(),
  d: z.string(),
  o: z.string(),
  g: z.string(),
  c: z.string(),
  x: z.string(),
});

/**
 * The fields of an alarm's record. They are the same for every alarm and their names are short: then
 * Redis keeps the names once for a whole node of the stream.
 */
export function alarmRecordFields(record: AlarmToRecord): (string | number)[] {
  const { alarm, context, receivedAtMs } = record;
  const { footage, reportedAt, data } = alarm;
  const extras = {
    ...(Object.keys(footage).length === 0 ? {} : { footage }),
    ...(reportedAt === undefined ? {} : { reportedAt }),
    ...(data === undefined ? {} : { data }),
  };
  return [
    ...['i', alarm.id],
    ...['k', alarm.kind],
    ...['t', alarm.detectedAtMs],
    ...['r', receivedAtMs],
    ...['l', context.location.id],
    ...['d', context.device.id],
    ...['o', context.room?.id ?? ''],
    ...['g', context.group?.id ?? ''],
    ...['c', context.device.customData === '{}' ? '' : context.device.customData],
    ...['x', Object.keys(extras).length === 0 ? '' : JSON.stringify(extras)],
  ];
}

/** Reads the fields and values of a record. */
export function readAlarmRecord(fields: readonly string[]): AlarmRecord {
  const pairs = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2)
    pairs.set(fields[at] ?? '', fields[at + 1] ?? '');
  const record = recordSchema.parse(Object.fromEntries(pairs));
  const extras = record.x === '' ? {} : extrasSchema.parse(JSON.parse(record.x));
  return {
    id: record.i,
    kind: record.k,
    detectedAtMs: record.t,
    receivedAtMs: record.r,
    deviceId: record.d,
    roomId: record.o || null,
    groupId: record.g || null,
    footage: extras.footage ?? {},
  };
}
