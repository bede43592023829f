/**
 * Schemas of the messages of docs/reference/mqtt.md for their receivers.
 *
 * Messages are composed as text (`src/domain/messages.ts`), so nothing here creates or parses one:
 * `/asyncapi.json` is generated from these schemas, and the tests check every message that they
 * receive against them.
 */

import { z } from 'zod';
import { ALARM_KINDS, FOOTAGE_TYPES, INVALID_PUBLISH_REASONS } from '../../src/domain/alarm.js';
import { GIVEN_STATES } from '../../src/domain/alarm-state.js';

/** The schemas by the names that clients generated from `/asyncapi.json` give their classes. */
export const messageNames = z.registry<{ id: string }>();

const time = z.iso.datetime({ precision: 3 }).describe('UTC, with milliseconds.');
const named = z
  .strictObject({ id: z.guid(), name: z.string().meta({ examples: ['Room 7'] }) })
  .register(messageNames, { id: 'Named' });
// Named as well: Java needs a type for it.
const namedOrNull = named.nullable().register(messageNames, { id: 'NamedOrNull' });
const kind = z
  .enum(ALARM_KINDS)
  .meta({ examples: ['fall'] })
  .register(messageNames, { id: 'AlarmKind' });
const footageType = z.enum(FOOTAGE_TYPES).register(messageNames, { id: 'FootageType' });
const anyJson = z
  .unknown()
  .describe('Any JSON value, the same text as the device sent.')
  .meta({ examples: [21.5] });
const base64 = z.base64();

/** The device's place and custom data when the message was accepted. */
const place = {
  device: named,
  location: named,
  room: namedOrNull,
  group: namedOrNull,
  customData: z
    .looseObject({})
    .describe("The device's custom data; empty when it has none.")
    .meta({ examples: [{ bed: 2 }] })
    .register(messageNames, { id: 'CustomData' }),
};

export const forwardedAlarmSchema = z
  .strictObject({
    id: z.guid().describe('The same for every repetition of the alarm.'),
    kind,
    detectedAt: time.describe(
      'When it was detected, or when it was received if that is not known.',
    ),
    receivedAt: time,
    reportedAt: anyJson
      .optional()
      .describe('The time of detection that the device sent, where it could not be believed.')
      .meta({ examples: ['1970-01-01T00:00:07Z'] }),
    late: z
      .boolean()
      .describe('Whether it is forwarded more than 60 s after it was received.')
      .meta({ examples: [false] }),
    footage: z.array(footageType).describe('The types of the recordings.'),
    data: z
      .unknown()
      .describe(
        'The other fields that the device sent; with the kind in the topic, any JSON value.',
      )
      .meta({ examples: [{ confidence: 0.97 }] })
      .register(messageNames, { id: 'AlarmData' })
      .optional(),
    base64: base64.describe('The payload, where it is no JSON.').optional(),
    malformed: z
      .literal(true)
      .describe('The payload should have been JSON, and only its kind could be read.')
      .optional(),
    test: z.literal(true).describe('It is a test: nobody needs help.').optional(),
    ...place,
  })
  .register(messageNames, { id: 'ForwardedAlarm' });

export const escalatedAlarmSchema = forwardedAlarmSchema
  .extend({
    escalation: z
      .strictObject({
        name: z.string().meta({ examples: ['night-manager'] }),
        afterSeconds: z.int().meta({ examples: [180] }),
      })
      .describe('Which escalation this is: nobody has acknowledged the alarm for so long.')
      .register(messageNames, { id: 'Escalation' }),
  })
  .register(messageNames, { id: 'EscalatedAlarm' });

const givenState = z
  .enum(GIVEN_STATES)
  .meta({ examples: ['acknowledged'] })
  .register(messageNames, { id: 'GivenAlarmState' });
const note = z
  .string()
  .describe('1 to 500 characters.')
  .meta({ examples: ['Helped back into bed'] });

export const forwardedStateSchema = z
  .strictObject({
    id: z.guid().describe('The id of the alarm.'),
    kind,
    state: givenState,
    // The id of the administrator's token is not a UUID.
    by: z
      .strictObject({ id: z.string(), name: z.string() })
      .describe('The access token that gave it the state, by the name that it had.')
      .meta({
        examples: [{ id: '3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318', name: 'Nurses, first floor' }],
      })
      .register(messageNames, { id: 'AlarmStateAuthor' }),
    at: time,
    note: note.optional(),
    ...place,
  })
  .register(messageNames, { id: 'ForwardedAlarmState' });

/** The payload of a state as a responder publishes it. */
export const publishedStateSchema = z
  .looseObject({
    id: z.guid().describe('The id of the alarm.'),
    state: givenState,
    note: note.nullish(),
  })
  .register(messageNames, { id: 'PublishedAlarmState' });

export const supervisionSchema = z
  .strictObject({
    id: z.guid().describe('Of this event.'),
    state: z.enum(['silent', 'heard']).register(messageNames, { id: 'SupervisionState' }),
    since: time,
    lastSeenAt: time.describe('When the last packet came from the device.'),
    ...place,
  })
  .register(messageNames, { id: 'Supervision' });

export const forwardedMessageSchema = z
  .union([
    z
      .strictObject({ receivedAt: time, data: anyJson, ...place })
      .register(messageNames, { id: 'ForwardedJson' }),
    z
      .strictObject({
        receivedAt: time,
        base64: base64.describe('The bytes that the device sent, which are no JSON.'),
        ...place,
      })
      .register(messageNames, { id: 'ForwardedBytes' }),
  ])
  .register(messageNames, { id: 'ForwardedMessage' });

export const deviceStatusSchema = z
  .strictObject({
    online: z.boolean(),
    since: time,
    via: named.optional().describe('The access token of the hub through which it was last heard.'),
    ...place,
  })
  .register(messageNames, { id: 'DeviceStatus' });

const invalidPublish = {
  reason: z.enum(INVALID_PUBLISH_REASONS).register(messageNames, { id: 'InvalidPublishReason' }),
  topic: z
    .string()
    .describe('The topic on which it was published.')
    .meta({ examples: ['devices/3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318/alarms'] }),
  base64: base64.describe('The payload that was published.'),
  receivedAt: time,
};
export const deviceInvalidPublishSchema = z
  .strictObject(invalidPublish)
  .register(messageNames, { id: 'InvalidPublish' });
export const forwardedInvalidPublishSchema = z
  .strictObject({ ...invalidPublish, ...place })
  .register(messageNames, { id: 'ForwardedInvalidPublish' });

const faultSchema = z
  .strictObject({
    code: z
      .string()
      .describe('What is wrong. Stable, kebab-case; versions to come have more of them.')
      .meta({ examples: ['bridge-down'] }),
    stops: z.boolean().describe('Whether the gateway is not ready because of this fault.'),
    since: time,
    message: z.string().meta({ examples: ['A bridge is down: the upstream cannot be reached'] }),
  })
  .register(messageNames, { id: 'Fault' });

export const gatewayStatusSchema = z
  .strictObject({
    online: z.boolean(),
    at: time,
    version: z.string().meta({ examples: ['1.0.0'] }),
    faults: z
      .array(faultSchema)
      .describe('The present faults, none of them with a name of a device or location.'),
  })
  .register(messageNames, { id: 'GatewayStatus' });

const messageCount = z.int().nonnegative();

const HOME_ASSISTANT_DEVICE = '3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318';
export const homeAssistantDiscoverySchema = z
  .strictObject({
    name: z.string().meta({ examples: ['Alarm'] }),
    unique_id: z.string(),
    state_topic: z.string(),
    value_template: z.string(),
    event_types: z.array(kind).optional(),
    device_class: z.literal('connectivity').optional(),
    entity_category: z.literal('diagnostic').optional(),
    qos: z.literal(1),
    device: z
      .strictObject({
        identifiers: z.array(z.string()),
        name: z.string(),
        suggested_area: z.string(),
      })
      .register(messageNames, { id: 'HomeAssistantDevice' }),
    origin: z
      .strictObject({ name: z.string(), sw_version: z.string() })
      .register(messageNames, { id: 'HomeAssistantOrigin' }),
  })
  .meta({
    examples: [
      {
        name: 'Connection',
        unique_id: `${HOME_ASSISTANT_DEVICE}-status`,
        state_topic: `care-homes/9c41d7f2-0a6b-4e35-8f11-c2d96b5a7e04/devices/${HOME_ASSISTANT_DEVICE}/status`,
        value_template: "{{ 'ON' if value_json.online else 'OFF' }}",
        device_class: 'connectivity',
        entity_category: 'diagnostic',
        qos: 1,
        device: {
          identifiers: [HOME_ASSISTANT_DEVICE],
          name: 'Fall sensor, room 7',
          suggested_area: 'Room 7',
        },
        origin: { name: 'care-home-gateway', sw_version: '1.0.0' },
      },
    ],
  })
  .register(messageNames, { id: 'HomeAssistantDiscovery' });

export const bridgeStatusSchema = z
  .strictObject({
    name: z.string().meta({ examples: ['head-office'] }),
    url: z
      .string()
      .nullable()
      .describe('The URL of the upstream, null while the bridge is missing from the configuration.')
      .meta({ examples: ['mqtts://broker.head-office.example:8883'] }),
    state: z
      .enum(['delivering', 'failing', 'refusing'])
      .register(messageNames, { id: 'DestinationState' }),
    connected: z.boolean(),
    connectedSince: time.nullable(),
    lastAcknowledgedAt: time.nullable(),
    queued: messageCount,
    oldestQueuedAt: time.nullable(),
    delivered: messageCount,
    dropped: z
      .strictObject({
        tooOld: messageCount,
        tooMany: messageCount,
        refused: messageCount,
        lost: messageCount,
      })
      .register(messageNames, { id: 'BridgeDrops' }),
    lastError: z
      .strictObject({ at: time, kind: z.string(), detail: z.string() })
      .meta({
        examples: [
          { at: '2026-01-01T06:30:00.000Z', kind: 'timeout', detail: 'No answer within 10 s.' },
        ],
      })
      .register(messageNames, { id: 'BridgeError' })
      .nullable()
      .describe('The last failure, also when it is over.')
      .register(messageNames, { id: 'BridgeErrorOrNull' }),
  })
  .register(messageNames, { id: 'BridgeStatus' });

const footageKey = z
  .string()
  .nullish()
  .describe(
    "An object key under the device's own prefix, `<device id>/` or `devices/<device id>/`.",
  )
  .meta({ examples: ['3f0c2a5e-8d1b-4c7a-9e64-5b2f7d90c318/video/7b1d52c0.mp4'] });

/** The payload of an alarm as a device publishes it; `parseAlarm` is more lenient. */
export const publishedAlarmSchema = z
  .looseObject({
    kind,
    id: z.guid().nullish().describe('Without one it is derived from device, kind and time.'),
    detectedAt: z.iso
      .datetime({ offset: true })
      .nullish()
      .describe('RFC 3339. Absent, before 2020 or more than 5 minutes ahead: time of receipt.'),
    footage: z
      .looseObject({ video: footageKey, audio: footageKey })
      .register(messageNames, { id: 'FootageKeys' })
      .nullish()
      .register(messageNames, { id: 'FootageKeysOrNull' }),
  })
  .register(messageNames, { id: 'PublishedAlarm' });
