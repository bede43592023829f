/** How an alarm is written into the alarm log, and read from it again. */

import { z } from 'zod';
import type { NewAlarm } from '../delivery/log-entry.js';
import type { AlarmKind } from '../domain/alarms.js';
import { ALARM_KINDS, FOOTAGE_TYPES } from '../domain/alarms.js';
import { uuidBytes, uuidText } from '../domain/identifiers.js';
import { parseJson } from '../domain/json-text.js';
import type { ForwardedAlarm } from '../domain/messages.js';
import type { Packable } from './packed.js';

const UUID_BYTES = 16;

/** Fields that only some alarms have, as one JSON text. */
const extrasSchema = z.object({
  footage: z.partialRecord(z.enum(FOOTAGE_TYPES), z.string()).optional(),
  reportedAt: z.string().optional(),
});

/** An alarm's record; its place is kept for itself. */
export interface ReadAlarm extends ForwardedAlarm {
  readonly receivedAtMs: number;
  /** By the steady clock; of a record of version 1: `receivedAtMs`. */
  readonly steadyAtMs: number;
  readonly placeDigest: string;
}

/** A kind as the log writes it: its place in the specification's list, which is closed. */
export function kindNumber(kind: AlarmKind): number {
  return ALARM_KINDS.indexOf(kind);
}

/**
 * The values of an alarm's record but for kind and place: id, received at, how long after it was
 * detected, data, extras, received at by the steady clock. Every alarm has the same fields, so that
 * Redis keeps their names once for a node of the stream.
 */
export function alarmRecordValues(entry: NewAlarm): Packable[] {
  const { alarm, context, wallReceivedAtMs } = entry;
  return [
    uuidBytes(alarm.id),
    wallReceivedAtMs,
    wallReceivedAtMs - alarm.detectedAtMs,
    alarm.data ?? '',
    extrasText(alarm, context.device.id),
    Math.round(entry.receivedAtMs),
  ];
}

function extrasText({ footage, reportedAt }: NewAlarm['alarm'], deviceId: string): string {
  const keys = mapFootage(footage, (key) => withoutDevice(key, deviceId));
  const hasFootage = Object.keys(keys).length > 0;
  if (!hasFootage && reportedAt === undefined) return '';
  return JSON.stringify({
    ...(hasFootage && { footage: keys }),
    ...(reportedAt !== undefined && { reportedAt }),
  });
}

/** Reads the fields and values of a record; undefined when it is none of ours. */
export function readAlarm(fields: readonly Buffer[]): ReadAlarm | undefined {
  const values = new Map<string, Buffer>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = [fields[at], fields[at + 1]];
    if (name !== undefined && value !== undefined) values.set(name.toString(), value);
  }
  const text = (name: string) => values.get(name)?.toString() ?? '';
  const id = values.get('i');
  const kind = ALARM_KINDS[Number(text('k'))];
  const [receivedAtMs, delayMs] = [Number(text('r')), Number(text('a'))];
  const extras = extrasSchema.safeParse(parseJson(text('x') || '{}')).data;
  const isComplete = id?.length === UUID_BYTES && !Number.isNaN(receivedAtMs + delayMs);
  if (!isComplete || kind === undefined || extras === undefined) return undefined;
  const { footage = {}, reportedAt } = extras;
  return {
    id: uuidText(id),
    kind,
    detectedAtMs: receivedAtMs - delayMs,
    receivedAtMs,
    steadyAtMs: Number(text('t')) || receivedAtMs,
    placeDigest: text('p'),
    footage,
    reportedAt,
    data: text('d') || undefined,
  };
}

type Footage = ForwardedAlarm['footage'];

/** The record with the whole object keys of its recordings. */
export function withFootageOf(alarm: ReadAlarm, deviceId: string): ReadAlarm {
  return { ...alarm, footage: mapFootage(alarm.footage, (key) => withDevice(key, deviceId)) };
}

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
