import { z } from '@hono/zod-openapi';
import { ALARM_STATES } from '../../domain/alarm-states.js';
import { ALARM_KINDS } from '../../domain/alarms.js';
import { formatTime } from '../../domain/notation.js';
import type { AlarmRecord } from '../../site/alarms/alarm-history.js';
import type { FootageUrls } from '../../site/footage.js';
import { stateFields, stateSchema, statesView } from './alarm-state.js';
import { EXAMPLE_FOOTAGE_URL, idSchema, timestampSchema, uuidSchema } from './common.js';
import {
  afterParameter,
  beforeParameter,
  choiceParameter,
  cursorParameter,
  limitParameter,
  nextCursorSchema,
  orderParameter,
  parameter,
} from './listing.js';

const kindSchema = z.enum(ALARM_KINDS);

/** The query of an alarm listing (specification 4, "Alarm events of a device"). */
export const alarmQuerySchema = z.object({
  before: beforeParameter('Only alarms detected before this time.'),
  after: afterParameter('Only alarms detected after this time.'),
  order: orderParameter,
  limit: limitParameter,
  kinds: choiceParameter(ALARM_KINDS, ['fall', 'helpCall']),
  state: choiceParameter(ALARM_STATES, ['raised', 'acknowledged']),
  cursor: cursorParameter,
});

/** The query of the listing of a location. */
export const locationAlarmQuerySchema = alarmQuerySchema.extend({
  device: parameter.pipe(uuidSchema).optional().openapi({
    type: 'string',
    format: 'uuid',
    description:
      'Only alarms of this device, which may have been deleted or have moved away since.',
  }),
});

const urlSchema = z
  .url()
  .nullable()
  .openapi({ description: 'Signed, valid for 10 minutes.', example: EXAMPLE_FOOTAGE_URL });

const alarmSchema = z
  .object({
    id: idSchema,
    detectedAt: timestampSchema,
    kind: kindSchema,
    footage: z.object({ video: urlSchema, audio: urlSchema }),
    state: stateSchema,
  })
  .openapi('Alarm');

const namedSchema = z.object({ id: idSchema, name: z.string().openapi({ example: 'Room 7' }) });
const nullableNamedSchema = namedSchema.nullable();
const anyObjectSchema = z.record(z.string(), z.unknown());

const placedAlarmSchema = alarmSchema
  .extend({
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

/** An alarm in the listing of its device. */
export function alarmView(record: AlarmRecord, urls: FootageUrls): z.infer<typeof alarmSchema> {
  return {
    id: record.id,
    detectedAt: formatTime(record.detectedAtMs),
    kind: record.kind,
    footage: { video: urls.video, audio: urls.audio },
    state: record.states.state,
  };
}

/** An alarm in the listing of its location, without the members that stay JSON text. */
export function placedAlarmView(
  record: AlarmRecord,
  urls: FootageUrls,
): Omit<z.infer<typeof placedAlarmSchema>, 'data' | 'customData'> {
  const { device, room, group, receivedAtMs, base64, isMalformed } = record;
  return {
    ...alarmView(record, urls),
    deviceId: device.id,
    roomId: room?.id ?? null,
    device: named(device),
    room: room && named(room),
    group: group && named(group),
    receivedAt: formatTime(receivedAtMs),
    ...statesView(record.states),
    ...(base64 === undefined ? {} : { base64 }),
    ...(isMalformed === true ? { malformed: true as const } : {}),
  };
}

/** The whole alarm as JSON text: `data` and `customData` keep their spelling (docs/contract.md, 2). */
export function placedAlarmText(record: AlarmRecord, urls: FootageUrls): string {
  const view = JSON.stringify(placedAlarmView(record, urls));
  const { data = 'null', customData } = record;
  return `${view.slice(0, -1)},"data":${data},"customData":${customData}}`;
}

function named({ id, name }: z.infer<typeof namedSchema>): z.infer<typeof namedSchema> {
  return { id, name };
}
