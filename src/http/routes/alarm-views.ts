/** An alarm as it is shown: in the listing of its device, with its place, and as a line of CSV. */

import { z } from 'zod';
import { ALARM_KINDS, FOOTAGE_TYPES, type FootageType } from '../../domain/alarm.js';
import { ALARM_STATES, type AlarmStateRecord } from '../../domain/alarm-state.js';
import { formatTime } from '../../domain/time.js';
import type { FootageUrls } from '../../site/footage.js';
import type { AlarmRecord } from '../../store/history/alarm-history.js';
import { EXAMPLE_FOOTAGE_URL, id, named, namedView, nextCursor, time } from '../fields.js';
import type { Columns } from '../listing.js';

/** Signed URLs, or what exists. */
export type ShownFootage = FootageUrls | FootageType[];

/** An alarm with its recordings. */
export interface ShownAlarm<Footage extends ShownFootage = ShownFootage> {
  readonly record: AlarmRecord;
  readonly footage: Footage;
}

const State = z.enum(ALARM_STATES).meta({ id: 'AlarmState' });

const Author = z.object({ id: z.string(), name: z.string() }).meta({
  id: 'AlarmStateAuthor',
  description: 'An access token, by the name that it had; `admin` is one.',
  examples: [{ id: '3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318', name: 'Nurses, first floor' }],
});

/** What the states of an alarm show besides the state. */
const stateFields = {
  acknowledgedBy: Author.optional(),
  acknowledgedAt: time.optional(),
  resolvedBy: Author.optional(),
  resolvedAt: time.optional(),
  note: z
    .string()
    .optional()
    .meta({ description: 'The newest note.', examples: ['Helped back into bed'] }),
};

export const AlarmStates = z.object({ id, state: State, ...stateFields }).meta({
  id: 'AlarmStates',
  description: 'Who acknowledged and who resolved the alarm, once somebody has.',
});

/** The states of an alarm, without what has not happened. */
export function statesView(states: AlarmStateRecord): Omit<z.infer<typeof AlarmStates>, 'id'> {
  const { state, acknowledged, resolved, note } = states;
  return {
    state,
    ...(acknowledged && {
      acknowledgedBy: acknowledged.by,
      acknowledgedAt: formatTime(acknowledged.atMs),
    }),
    ...(resolved && { resolvedBy: resolved.by, resolvedAt: formatTime(resolved.atMs) }),
    ...(note !== undefined && { note }),
  };
}

const url = z
  .url()
  .nullable()
  .meta({ description: 'Signed, valid for 10 minutes.', examples: [EXAMPLE_FOOTAGE_URL] });
const Urls = z.object({ video: url, audio: url });

const commonFields = { id, detectedAt: time, kind: z.enum(ALARM_KINDS), state: State };

const Alarm = z.object({ ...commonFields, footage: Urls }).meta({ id: 'Alarm' });

export const LocationAlarm = z
  .object({
    ...commonFields,
    footage: z.union([Urls, z.array(z.enum(FOOTAGE_TYPES))]),
    deviceId: id,
    roomId: id.nullable(),
    device: named,
    room: named.nullable(),
    group: named.nullable(),
    receivedAt: time,
    data: z.unknown().meta({
      description: "The device's other fields, with the same JSON values; null for none.",
      examples: [{ confidence: 0.97 }],
    }),
    base64: z
      .base64()
      .optional()
      .meta({
        description: 'The payload, where it was no JSON.',
        examples: ['cHJlc3NlZA=='],
      }),
    malformed: z.literal(true).optional().meta({
      description: 'The payload should have been JSON, and only its kind could be read.',
    }),
    test: z.literal(true).optional().meta({ description: 'It is a test, or a drill.' }),
    customData: z
      .record(z.string(), z.unknown())
      .meta({ description: "The device's custom data.", examples: [{ bed: 2 }] }),
    ...stateFields,
  })
  .meta({
    id: 'LocationAlarm',
    description: 'With names, place and custom data as of when the alarm was accepted.',
  });

const AlarmOfAnyLocation = LocationAlarm.extend({ location: named }).meta({
  id: 'AlarmOfAnyLocation',
  description: 'With the location of the alarm.',
});

export const AlarmPage = z.object({ nextCursor, events: z.array(Alarm) }).meta({ id: 'AlarmPage' });
export const LocationAlarmPage = z
  .object({ nextCursor, events: z.array(LocationAlarm) })
  .meta({ id: 'LocationAlarmPage' });
export const AlarmsPage = z
  .object({ nextCursor, events: z.array(AlarmOfAnyLocation) })
  .meta({ id: 'AlarmsPage' });

/** An alarm in the listing of its device. */
export function alarmView<Footage extends ShownFootage>({ record, footage }: ShownAlarm<Footage>) {
  return {
    id: record.id,
    detectedAt: formatTime(record.detectedAtMs),
    kind: record.kind,
    footage,
    state: record.states.state,
  };
}

/** An alarm with its place, as JSON text: `data` and `customData` keep their spelling (contract 2). */
export function placedAlarmText(alarm: ShownAlarm, isWithLocation = false): string {
  const { record } = alarm;
  const { device, room, group, location, receivedAtMs, base64, isMalformed, isTest } = record;
  const view: Omit<z.infer<typeof AlarmOfAnyLocation>, 'data' | 'customData' | 'location'> = {
    ...alarmView(alarm),
    deviceId: device.id,
    roomId: room?.id ?? null,
    device: namedView(device),
    room: room && namedView(room),
    group: group && namedView(group),
    receivedAt: formatTime(receivedAtMs),
    ...statesView(record.states),
    ...(base64 !== undefined && { base64 }),
    ...(isMalformed === true && { malformed: true }),
    ...(isTest === true && { test: true }),
  };
  const text = JSON.stringify(isWithLocation ? { ...view, location: namedView(location) } : view);
  const { data = 'null', customData } = record;
  return `${text.slice(0, -1)},"data":${data},"customData":${customData}}`;
}

export const ALARM_COLUMNS: Columns<ShownAlarm> = [
  ['id', ({ record }) => record.id],
  ['kind', ({ record }) => record.kind],
  ['detectedAt', ({ record }) => formatTime(record.detectedAtMs), 'time'],
  ['receivedAt', ({ record }) => formatTime(record.receivedAtMs), 'time'],
  ['deviceId', ({ record }) => record.device.id],
  ['deviceName', ({ record }) => record.device.name],
  ['roomId', ({ record }) => record.room?.id],
  ['roomName', ({ record }) => record.room?.name],
  ['groupId', ({ record }) => record.group?.id],
  ['groupName', ({ record }) => record.group?.name],
  ['data', ({ record }) => record.data],
  ['customData', ({ record }) => record.customData],
  ['video', ({ footage }) => recordingCell(footage, 'video')],
  ['audio', ({ footage }) => recordingCell(footage, 'audio')],
  ['state', ({ record }) => record.states.state],
  ['acknowledgedById', ({ record }) => record.states.acknowledged?.by.id],
  ['acknowledgedByName', ({ record }) => record.states.acknowledged?.by.name],
  ['acknowledgedAt', ({ record }) => timeCell(record.states.acknowledged?.atMs), 'time'],
  ['resolvedById', ({ record }) => record.states.resolved?.by.id],
  ['resolvedByName', ({ record }) => record.states.resolved?.by.name],
  ['resolvedAt', ({ record }) => timeCell(record.states.resolved?.atMs), 'time'],
  ['note', ({ record }) => record.states.note],
];

/** Of a listing of several locations. */
export const PLACED_ALARM_COLUMNS: Columns<ShownAlarm> = [
  ['locationId', ({ record }) => record.location.id],
  ['locationName', ({ record }) => record.location.name],
  ...ALARM_COLUMNS,
];

function timeCell(timeMs: number | undefined) {
  return timeMs === undefined ? undefined : formatTime(timeMs);
}

/** The URL of a recording, or that there is one. */
function recordingCell(footage: ShownFootage, type: FootageType) {
  if ('video' in footage) return footage[type];
  return footage.includes(type) ? 'yes' : '';
}
