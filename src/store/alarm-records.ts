/** How an alarm is written into the history stream, and read from it again. */

import { z } from 'zod';
import type { AlarmToRecord } from '../delivery/recorder.js';
import type { AlarmKind } from '../domain/alarms.js';
import { ALARM_KINDS, FOOTAGE_TYPES } from '../domain/alarms.js';
import { uuidBytes, uuidText } from '../domain/identifiers.js';
import type { AlarmRecord } from '../site/alarm-history.js';
import type { AlarmPlace } from './alarm-places.js';

/** What only some alarms have, as one JSON text. */
const extrasSchema = z.object({
  footage: z.partialRecord(z.enum(FOOTAGE_TYPES), z.string()).optional(),
  reportedAt: z.string().optional(),
});

const text = z.instanceof(Buffer).transform(String);
const recordSchema = z.object({
  i: z.instanceof(Buffer).transform(uuidText),
  k: text.transform((digit) => ALARM_KINDS[Number(digit)]).pipe(z.enum(ALARM_KINDS)),
  r: text.pipe(z.coerce.number()),
  a: text.pipe(z.coerce.number()),
  p: text,
  d: text,
  x: text,
});

/** A kind as the history writes it: its place in the specification's list, which is closed. */
export function kindNumber(kind: AlarmKind): number {
  return ALARM_KINDS.indexOf(kind);
}

/**
 * The values of an alarm's record, in the order of the fields: id, kind, received at, how long after it
 * was detected, place, data, extras. The fields are the same for every alarm, then Redis keeps their
 * names once for a whole node of the stream, and whole numbers take no more bytes than they need.
 */
export function alarmRecordValues(
  { alarm, context, receivedAtMs }: AlarmToRecord,
  placeDigest: string,
): (string | number | Buffer)[] {
  const { reportedAt } = alarm;
  const footage = mapFootage(alarm.footage, (key) => withoutDevice(key, context.device.id));
  const extras = {
    ...(Object.keys(footage).length === 0 ? {} : { footage }),
    ...(reportedAt === undefined ? {} : { reportedAt }),
  };
  return [
    uuidBytes(alarm.id),
    kindNumber(alarm.kind),
    receivedAtMs,
    receivedAtMs - alarm.detectedAtMs,
    placeDigest,
    alarm.data ?? '',
    Object.keys(extras).length === 0 ? '' : JSON.stringify(extras),
  ];
}

/**
 * Reads the fields and values of a record.
 *
 * @param places by digest; the record's own must be among them
 */
export function readAlarmRecord(
  fields: readonly Buffer[],
  places: ReadonlyMap<string, AlarmPlace>,
): AlarmRecord {
  const pairs = new Map<string, Buffer | undefined>();
  for (let at = 0; at < fields.length; at += 2) pairs.set(String(fields[at]), fields[at + 1]);
  const record = recordSchema.parse(Object.fromEntries(pairs));
  const extras = record.x === '' ? {} : extrasSchema.parse(JSON.parse(record.x));
  const place = places.get(record.p);
  if (place === undefined) throw new RangeError('an alarm without its place');
  return {
    id: record.i,
    kind: record.k,
    detectedAtMs: record.r - record.a,
    receivedAtMs: record.r,
    ...place,
    footage: mapFootage(extras.footage ?? {}, (key) => withDevice(key, place.deviceId)),
    data: record.d === '' ? undefined : record.d,
  };
}

type Footage = AlarmRecord['footage'];

function mapFootage(footage: Footage, change: (key: string) => string): Footage {
  return Object.fromEntries(Object.entries(footage).map(([type, key]) => [type, change(key)]));
}

/** Every footage key begins with its device, or with `devices/` and that (CONTRACT 3). */
const DEVICES = 'devices/';

function withoutDevice(key: string, deviceId: string): string {
  return key.replace(deviceId, '');
}

function withDevice(key: string, deviceId: string): string {
  return key.startsWith(DEVICES)
    ? `${DEVICES}${deviceId}${key.slice(DEVICES.length)}`
    : deviceId + key;
}
