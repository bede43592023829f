import { z } from '@hono/zod-openapi';
import { ALARM_KINDS, FOOTAGE_TYPES, type FootageType } from '../../domain/alarm.js';
import { ALARM_STATES } from '../../domain/alarm-state.js';
import { formatTime } from '../../domain/time.js';
import type { AlarmRecord } from '../../site/alarms/alarm-history.js';
import type { FootageUrls } from '../../site/footage.js';
import { stateFields, stateSchema, statesView } from './alarm-state.js';
import {
  EXAMPLE_FOOTAGE_URL,
  idSchema,
  namedSchema,
  timestampSchema,
  uuidSchema,
} from './common.js';
import {
  afterParameter,
  beforeParameter,
  choiceParameter,
  csvParameters,
  cursorParameter,
  idsParameter,
  limitParameter,
  nextCursorSchema,
  orderParameter,
  parameter,
} from './listing.js';

const kindSchema = z.enum(ALARM_KINDS);

/** What selects alarms in every listing. */
const selectionQuery = {
  kinds: choiceParameter(ALARM_KINDS, ['fall', 'helpCall']),
  state: choiceParameter(ALARM_STATES, ['raised', 'acknowledged']),
};

/** The query of an alarm listing. */
export const alarmQuerySchema = z.object({
  before: beforeParameter('Only alarms detected before this time.'),
  after: afterParameter('Only alarms detected after this time.'),
  order: orderParameter,
  limit: limitParameter,
  ...selectionQuery,
  cursor: cursorParameter,
});

const footageQuerySchema = z.object({
  footage: parameter
    .pipe(z.enum(['list']))
    .optional()
    .openapi({
      type: 'string',
      enum: ['list'],
      description:
        'With `list`, `footage` is the list of what exists. Nothing is signed, and nothing is written into the audit trail.',
    }),
});

/** The query of any resource of one alarm. */
export const deviceQuerySchema = z.object({
  device: parameter.pipe(uuidSchema).optional().openapi({
    type: 'string',
    format: 'uuid',
    description: 'The device of the alarm, should several use the id.',
  }),
});

/** The query of one alarm. */
export const oneAlarmQuerySchema = footageQuerySchema.extend(deviceQuerySchema.shape);

/** Where an alarm happened, and whether it is a test. */
const placesQuerySchema = z.object({
  device: idsParameter(
    'Only alarms of these devices, which may have been deleted or have moved away since.',
  ),
  room: idsParameter('Only alarms that happened in one of these rooms.'),
  group: idsParameter('Only alarms that happened in one of these groups.'),
  test: parameter
    .pipe(z.enum(['true', 'false']))
    .optional()
    .openapi({
      type: 'string',
      enum: ['true', 'false'],
      description: 'Only tests and drills, or none of them.',
    }),
});

/** What selects alarms of a location, except the time. */
export const alarmFilterQuerySchema = placesQuerySchema.extend(selectionQuery);

/** The query of a listing with places: of a location, or of all. */
export const placedAlarmQuerySchema = alarmQuerySchema.extend({
  ...csvParameters,
  ...placesQuerySchema.shape,
  ...footageQuerySchema.shape,
});

/** What selects alarms, except the time. */
export type AlarmFilterParameters = Pick<z.output<typeof alarmQuerySchema>, 'kinds' | 'state'> &
  Partial<z.output<typeof placesQuerySchema>>;

/** What selects alarms; a listing without places has only some of it. */
export type AlarmQueryParameters = z.output<typeof alarmQuerySchema> &
  Partial<z.output<typeof placedAlarmQuerySchema>>;

/** Signed URLs, or what exists. */
export type ShownFootage = FootageUrls | FootageType[];

const urlSchema = z
  .url()
  .nullable()
  .openapi({ description: 'Signed, valid for 10 minutes.', example: EXAMPLE_FOOTAGE_URL });

const footageSchema = z.object({ video: urlSchema, audio: urlSchema });

const commonFields = {
  id: idSchema,
  detectedAt: timestampSchema,
  kind: kindSchema,
  state: stateSchema,
};

const alarmSchema = z.object({ ...commonFields, footage: footageSchema }).openapi('Alarm');

const nullableNamedSchema = namedSchema.nullable();
const anyObjectSchema = z.record(z.string(), z.unknown());

export const placedAlarmSchema = z
  .object({
    ...commonFields,
    footage: z.union([footageSchema, z.array(z.enum(FOOTAGE_TYPES))]),
    deviceId: idSchema,
    roomId: idSchema.nullable(),
    device: namedSchema,
    room: nullableNamedSchema,
    group: nullableNamedSchema,
    receivedAt: timestampSchema,
    data: z.unknown().openapi({
      description: "The device's other fields, with the same JSON values; null for none.",
      example: { confidence: 0.97 },
    }),
    base64: z.base64().optional().openapi({
      description: 'The payload, where it was no JSON.',
      example: 'cHJlc3NlZA==',
    }),
    malformed: z.literal(true).optional().openapi({
      description: 'The payload should have been JSON, and only its kind could be read.',
    }),
    test: z.literal(true).optional().openapi({ description: 'It is a test, or a drill.' }),
    customData: anyObjectSchema.openapi({
      description: "The device's custom data.",
      example: { bed: 2 },
    }),
    ...stateFields,
  })
  .openapi('LocationAlarm', {
    description: 'With names, place and custom data as of when the alarm was accepted.',
  });

export const deviceAlarmPageSchema = z
  .object({ nextCursor: nextCursorSchema, events: z.array(alarmSchema) })
  .openapi('AlarmPage');

export const locationAlarmPageSchema = z
  .object({ nextCursor: nextCursorSchema, events: z.array(placedAlarmSchema) })
  .openapi('LocationAlarmPage');

export const alarmPageSchema = z
  .object({
    nextCursor: nextCursorSchema,
    events: z.array(
      placedAlarmSchema
        .extend({ location: namedSchema })
        .openapi('AlarmOfAnyLocation', { description: 'With the location of the alarm.' }),
    ),
  })
  .openapi('AlarmsPage');

/** An alarm in the listing of its device. */
export function alarmView<Shown extends ShownFootage>(record: AlarmRecord, footage: Shown) {
  return {
    id: record.id,
    detectedAt: formatTime(record.detectedAtMs),
    kind: record.kind,
    footage,
    state: record.states.state,
  };
}

/** An alarm in the listing of its location, without the members that stay JSON text. */
export function placedAlarmView(
  record: AlarmRecord,
  footage: ShownFootage,
): Omit<z.infer<typeof placedAlarmSchema>, 'data' | 'customData'> {
  const { device, room, group, receivedAtMs, base64, isMalformed, isTest } = record;
  return {
    ...alarmView(record, footage),
    deviceId: device.id,
    roomId: room?.id ?? null,
    device: named(device),
    room: room && named(room),
    group: group && named(group),
    receivedAt: formatTime(receivedAtMs),
    ...statesView(record.states),
    ...(base64 === undefined ? {} : { base64 }),
    ...(isMalformed === true ? { malformed: true as const } : {}),
    ...(isTest === true ? { test: true as const } : {}),
  };
}

/** The whole alarm as JSON text: `data` and `customData` keep their spelling (docs/reference/contract.md, 2). */
export function placedAlarmText(
  record: AlarmRecord,
  footage: ShownFootage,
  isWithLocation = false,
): string {
  const location = isWithLocation ? named(record.location) : undefined;
  const view = JSON.stringify({ ...placedAlarmView(record, footage), location });
  const { data = 'null', customData } = record;
  return `${view.slice(0, -1)},"data":${data},"customData":${customData}}`;
}

function named({ id, name }: z.infer<typeof namedSchema>): z.infer<typeof namedSchema> {
  return { id, name };
}
