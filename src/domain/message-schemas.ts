/**
 * Schemas of the messages of CONTRACT 3, for their receivers.
 *
 * Messages are composed as text (`messages.ts`), so nothing here makes or parses one:
 * `/asyncapi.json` is generated from these schemas, and the tests hold every message that they
 * receive against them.
 */

import { z } from 'zod';
import { ALARM_KINDS, FOOTAGE_TYPES, INVALID_PUBLISH_REASONS } from './alarms.js';

const time = z.iso.datetime({ precision: 3 }).describe('UTC, with milliseconds.');
const named = z.strictObject({ id: z.guid(), name: z.string() });
const kind = z.enum(ALARM_KINDS);
const anyJson = z.unknown().describe('Any JSON value, the same text as the device sent.');
const base64 = z.base64();

/** The device's place and custom data, as of when the message was accepted. */
const place = {
  device: named,
  location: named,
  room: named.nullable(),
  group: named.nullable(),
  customData: z.looseObject({}).describe("The device's custom data; empty when it has none."),
};

export const forwardedAlarmSchema = z.strictObject({
  id: z.guid().describe('The same for every repetition of the alarm.'),
  kind,
  detectedAt: time.describe('When it was detected, or when it was received if that is not known.'),
  receivedAt: time,
  reportedAt: anyJson
    .optional()
    .describe('The time of detection that the device sent, where it could not be believed.'),
  late: z.boolean().describe('Whether it is forwarded more than 60 s after it was received.'),
  footage: z.array(z.enum(FOOTAGE_TYPES)).describe('The types of the recordings.'),
  data: z.looseObject({}).optional().describe('The other fields that the device sent.'),
  ...place,
});

export const forwardedMessageSchema = z.union([
  z.strictObject({ receivedAt: time, data: anyJson, ...place }),
  z.strictObject({
    receivedAt: time,
    base64: base64.describe('The bytes that the device sent, which are no JSON.'),
    ...place,
  }),
]);

export const deviceStatusSchema = z.strictObject({ online: z.boolean(), since: time, ...place });

const invalidPublish = {
  reason: z.enum(INVALID_PUBLISH_REASONS),
  topic: z.string().describe('The topic on which it was published.'),
  base64: base64.describe('The payload that was published.'),
  receivedAt: time,
};
export const deviceInvalidPublishSchema = z.strictObject(invalidPublish);
export const forwardedInvalidPublishSchema = z.strictObject({ ...invalidPublish, ...place });

export const gatewayStatusSchema = z.strictObject({
  online: z.boolean(),
  at: time,
  version: z.string(),
  faults: z.array(z.string()).describe('The present faults, in words.'),
});

const messageCount = z.int().nonnegative();

export const bridgeStatusSchema = z.strictObject({
  name: z.string(),
  url: z.string().describe('The URL of the upstream.'),
  connected: z.boolean(),
  connectedSince: time.nullable(),
  lastAcknowledgedAt: time.nullable(),
  queued: messageCount,
  oldestQueuedAt: time.nullable(),
  delivered: messageCount,
  dropped: z.strictObject({ tooOld: messageCount, tooMany: messageCount, refused: messageCount }),
  lastError: z
    .strictObject({ at: time, kind: z.string(), detail: z.string() })
    .nullable()
    .describe('The last failure, also when it is over.'),
});

const footageKey = z
  .string()
  .nullish()
  .describe(
    "An object key under the device's own prefix, `<device id>/` or `devices/<device id>/`.",
  );

/** The payload of an alarm as a device publishes it; `parseAlarm` is more lenient. */
export const publishedAlarmSchema = z.looseObject({
  kind,
  id: z.guid().nullish().describe('Without one it is derived from device, kind and time.'),
  detectedAt: z.iso
    .datetime({ offset: true })
    .nullish()
    .describe('RFC 3339. Absent, before 2020 or more than 5 minutes ahead: time of receipt.'),
  footage: z.looseObject({ video: footageKey, audio: footageKey }).nullish(),
});
