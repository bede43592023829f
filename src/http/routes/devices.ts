/** Devices, their moves and custom data, what they have published wrongly, which are silent, and test alarms. */

import { z } from 'zod';
import { ALARM_KINDS } from '../../domain/alarm.js';
import { permits } from '../../domain/grants.js';
import { decodeUtf8, isJson, objectMembers } from '../../domain/json.js';
import { silentAfterSchema } from '../../domain/rules.js';
import type { Device } from '../../domain/site.js';
import { formatTime } from '../../domain/time.js';
import { GatewayError } from '../../errors.js';
import { MAX_CUSTOM_DATA_BYTES } from '../../site/operations.js';
import { JSON_MEDIA_TYPE, readBody, requireMediaType } from '../body.js';
import { entityTag, isKnown } from '../conditional.js';
import {
  EXAMPLE_ID,
  EXAMPLE_SECRET,
  id,
  Nothing,
  name,
  named,
  namedView,
  time,
  uuid,
  uuidOrNull,
} from '../fields.js';
import type { HttpContext } from '../frame.js';
import { resource } from '../resource.js';
import type { Ids, Rights } from '../rights.js';
import { accepted, done, get, json, patch, post, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';

type DeviceIds = Ids<'locationId' | 'deviceId'>;

const COLLECTION = '/care-homes/{locationId}/devices';
const ITEM = `${COLLECTION}/{deviceId}` as const;

export const DeviceView = z
  .object({
    id,
    name: z.string().meta({ examples: ['Fall sensor, bed 2'] }),
    locationId: id,
    roomId: id.nullable(),
    online: z.boolean(),
    lastSeenAt: time.nullable(),
    via: named.optional().meta({
      description: 'The access token of the hub through which it was last heard; if it was.',
      examples: [{ id: EXAMPLE_ID, name: 'Zigbee hub' }],
    }),
    createdAt: time,
    supervision: z
      .object({ silentAfterSeconds: z.int() })
      .optional()
      .meta({ description: 'A time of its own after which it is silent; if it has one.' }),
  })
  .meta({ id: 'Device' });

const secret = z
  .string()
  .meta({ description: 'The MQTT password, shown only once.', examples: [EXAMPLE_SECRET] });
export const CreatedDevice = DeviceView.extend({ secret }).meta({ id: 'CreatedDevice' });
export const DeviceSecret = z.object({ secret }).meta({ id: 'DeviceSecret' });

export const NewDevice = z.strictObject({ name, id: uuid.optional() }).meta({ id: 'NewDevice' });

export const DeviceChange = z
  .strictObject({
    name: name.optional(),
    supervision: z
      .strictObject({
        silentAfterSeconds: silentAfterSchema.nullable().optional().meta({
          description:
            'After how many seconds without a packet it is silent; null: as the configuration says.',
        }),
      })
      .optional(),
  })
  .refine(
    (change) => Object.values(change).some((value) => value !== undefined),
    'must have at least one of name and supervision',
  )
  .meta({ id: 'DeviceChange', minProperties: 1, examples: [{ name: 'Fall sensor, bed 2' }] });

/** The target of a move. */
export const DeviceMove = z
  .strictObject({
    targetLocationId: uuid.optional(),
    targetRoomId: uuidOrNull.optional().meta({
      description: 'A room of the location; null takes the device out of its room.',
    }),
  })
  .refine(
    ({ targetLocationId, targetRoomId }) =>
      (targetLocationId === undefined) !== (targetRoomId === undefined),
    'must have exactly one of targetLocationId and targetRoomId',
  )
  .meta({
    id: 'DeviceMove',
    description: 'Exactly one of the two.',
    minProperties: 1,
    maxProperties: 1,
  });

/** A device counts as unchanged even if it has connected or sent something meanwhile. */
function deviceTag({ online, lastSeenAt, via, ...made }: z.output<typeof DeviceView>): string {
  return entityTag(made, { online, lastSeenAt, via });
}

/** A device as it is shown. */
export function deviceView(
  { presence }: Pick<HttpServices, 'presence'>,
  device: Device,
): z.output<typeof DeviceView> {
  const { online, lastSeenAtMs, via } = presence.of(device.id);
  const { silentAfterSeconds } = device;
  return {
    id: device.id,
    name: device.name,
    locationId: device.locationId,
    roomId: device.roomId,
    online,
    lastSeenAt: lastSeenAtMs === null ? null : formatTime(lastSeenAtMs),
    ...(via !== undefined && { via }),
    createdAt: formatTime(device.createdAtMs),
    ...(silentAfterSeconds !== undefined && { supervision: { silentAfterSeconds } }),
  };
}

export function deviceRoutes(services: HttpServices, rights: Rights): Routes {
  const { operations, model } = services;
  const view = (device: Device) => deviceView(services, device);
  const tagNow = (path: DeviceIds) => deviceTag(view(model.requireDevice(path)));
  return {
    ...resource(COLLECTION, 'deviceId', {
      name: 'Device',
      view: DeviceView,
      show: (path) => view(model.requireDevice(path)),
      tagOf: deviceTag,
      list: {
        right: rights.partOf('viewer'),
        handle: ({ path, caller }) => rights.devicesOf(caller, path.locationId).map(view),
      },
      create: {
        right: rights.location('manager'),
        summary: 'Create a device; only this answer shows its secret',
        body: NewDevice,
        view: CreatedDevice,
        problems: { 409: 'The id is in use.' },
        handle: async ({ path: { locationId }, body, caller }) => {
          const made = await operations.createDevice(caller.actor, locationId, body.name, body.id);
          return { ...view(made.device), secret: made.secret };
        },
      },
      get: rights.device('viewer'),
      change: {
        right: rights.device('manager'),
        summary: 'Rename a device, or set a time of silence of its own',
        body: DeviceChange,
        handle: ({ path, body, caller }) => operations.changeDevice(caller.actor, path, body),
      },
      remove: {
        right: rights.device('manager'),
        summary: 'Delete a device; its alarm history stays',
        handle: ({ path, caller }) => operations.deleteDevice(caller.actor, path),
      },
    }),
    replaceDeviceSecret: post(`${ITEM}/secret`, {
      tag: 'Devices',
      summary: 'Give a device a new secret; the old one stops working at once',
      description:
        'Live connections with the old secret are closed. Use this to replace broken hardware: id, room, name and history stay.',
      right: rights.device('manager'),
      body: Nothing,
      isBodyOptional: true,
      answer: json('The secret, shown only once.', DeviceSecret),
      tagNow,
      handle: async ({ path, caller }) => ({
        secret: await operations.replaceDeviceSecret(caller.actor, path),
      }),
    }),
    moveDevice: post(`${ITEM}/move`, {
      tag: 'Devices',
      summary: 'Move a device to another location, into a room, or out of its room',
      description:
        'Needs a manager on both sides. Moving to another location leaves the room; `"targetRoomId": null` takes the device out of its room.',
      // Permission over both sides is checked before the existence of either.
      right: rights.deviceUnseen('manager'),
      body: DeviceMove,
      answer: done,
      tagNow,
      handle: async ({ path, body: { targetLocationId, targetRoomId = null }, caller }) => {
        const { locationId } = path;
        if (targetLocationId !== undefined) {
          // Both whole locations are needed: a grant on the device's group is not enough (contract 2).
          caller.mustHave('manager', { locationId });
          caller.mustHave('manager', { locationId: targetLocationId });
        } else if (targetRoomId !== null) {
          rights.mustHaveRoom(caller, 'manager', { locationId, roomId: targetRoomId });
        }
        model.requireDevice(path);
        if (targetLocationId === undefined) {
          await operations.moveToRoom(caller.actor, path, targetRoomId);
        } else await operations.moveToLocation(caller.actor, path, targetLocationId);
      },
    }),
    ...customDataRoutes(services, rights),
    ...reportRoutes(services, rights),
  };
}

const MERGE_PATCH_MEDIA_TYPE = 'application/merge-patch+json';
/** No schema reads custom data: it passes through as text, which keeps its JSON values (contract 2). */
const AnyObject = z
  .looseObject({})
  .meta({ description: 'Any JSON object.', examples: [{ bed: 2 }] });

function customDataRoutes({ operations, model }: HttpServices, rights: Rights): Routes {
  const answer = {
    status: 200,
    description: 'The stored object.',
    schema: AnyObject,
  } as const;
  const textOf = (path: DeviceIds) => model.requireDevice(path).customData;
  const respond = (c: HttpContext, text: string, isRead: boolean) => {
    const tag = entityTag(text);
    c.header('ETag', tag);
    if (isRead && isKnown(c, tag)) return c.body(null, 304);
    return c.body(text, 200, { 'Content-Type': JSON_MEDIA_TYPE });
  };
  return {
    getCustomData: get(`${ITEM}/custom-data`, {
      tag: 'Custom data',
      summary: "Get a device's custom data",
      right: rights.device('viewer'),
      answer,
      tagOf: entityTag,
      handle: ({ c, path }) => respond(c, textOf(path), true),
    }),
    setCustomData: patch(`${ITEM}/custom-data`, {
      tag: 'Custom data',
      summary: "Replace a device's custom data, or merge into it (RFC 7396)",
      description:
        '`application/json` replaces the whole object, `application/merge-patch+json` merges. The JSON values in the answer and in forwarded messages are those that were sent.',
      right: rights.device('manager'),
      ownBody: { [JSON_MEDIA_TYPE]: AnyObject, [MERGE_PATCH_MEDIA_TYPE]: AnyObject },
      answer,
      tagNow: (path) => entityTag(textOf(path)),
      tagOf: entityTag,
      handle: async ({ c, path, caller }) => {
        const mediaType = requireMediaType(c, [JSON_MEDIA_TYPE, MERGE_PATCH_MEDIA_TYPE]);
        const mode = mediaType === MERGE_PATCH_MEDIA_TYPE ? 'merge' : 'replace';
        const payload = await readObjectText(c);
        caller.checkAgain();
        return respond(c, await operations.setCustomData(caller.actor, path, payload, mode), false);
      },
    }),
  };
}

/** Reads the body; one that is too large gets 400 here, not 413 (contract 2). */
async function readObjectText(c: HttpContext): Promise<string> {
  const invalid = (detail: string) => new GatewayError('invalid-custom-data', detail);
  const bytes = await readBody(c, MAX_CUSTOM_DATA_BYTES);
  if (bytes === undefined) {
    throw invalid(`Custom data must not exceed ${MAX_CUSTOM_DATA_BYTES} bytes.`);
  }
  const text = decodeUtf8(bytes);
  if (text === undefined) throw invalid('Custom data must be UTF-8.');
  if (!isJson(text)) throw invalid('Custom data must be valid JSON.');
  if (objectMembers(text) === undefined) throw invalid('Custom data must be a JSON object.');
  return text;
}

export const SilentDevice = z
  .object({
    device: named,
    room: named.nullable(),
    group: named.nullable(),
    since: time,
    lastSeenAt: time,
  })
  .meta({ id: 'SilentDevice' });

export const RejectedPublish = z
  .object({
    deviceId: id,
    reason: z.string().meta({ examples: ['unknown-kind'] }),
    topic: z.string().meta({ examples: [`devices/${EXAMPLE_ID}/alarms`] }),
    base64: z.base64().meta({ examples: ['eyJraW5kIjoiZmVsbCJ9'] }),
    receivedAt: time,
  })
  .meta({ id: 'RejectedPublish' });

export const NewTestAlarm = z
  .strictObject({
    kind: z
      .enum(ALARM_KINDS)
      .default('helpCall')
      .meta({ examples: ['helpCall'] }),
  })
  .meta({ id: 'NewTestAlarm' });
export const TestAlarm = z.object({ id }).meta({ id: 'TestAlarm' });

function reportRoutes(services: HttpServices, rights: Rights): Routes {
  const { model, supervision, invalidPublishes, testAlarms } = services;
  return {
    listSilentDevices: get('/care-homes/{locationId}/supervision', {
      tag: 'Devices',
      summary: 'List the devices from which nothing comes any more',
      description:
        'Those that the access token covers; the one that has been silent for longest first.',
      right: rights.partOf('viewer'),
      answer: json('The silent devices.', SilentDevice.array()),
      handle: ({ path, caller }) => {
        const covered = new Set(rights.devicesOf(caller, path.locationId).map(({ id }) => id));
        return supervision.list().flatMap(({ deviceId, sinceMs, lastSeenAtMs }) => {
          const context = covered.has(deviceId) ? model.context(deviceId) : undefined;
          if (context === undefined) return [];
          const { device, room, group } = context;
          return {
            device: namedView(device),
            room: room && namedView(room),
            group: group && namedView(group),
            since: formatTime(sinceMs),
            lastSeenAt: formatTime(lastSeenAtMs),
          };
        });
      },
    }),
    listRejectedPublishes: get('/care-homes/{locationId}/rejected', {
      tag: 'Devices',
      summary: 'List the publishes that could not be used, newest first',
      right: rights.partOf('viewer'),
      answer: json('The newest of them.', RejectedPublish.array()),
      handle: async ({ path: { locationId }, caller }) => {
        const records = await invalidPublishes.list(locationId);
        // Only callers who may see the group that the device was in see the publish.
        const covered = records.filter(({ groupId }) =>
          permits(caller.grants, 'viewer', { locationId, groupId }),
        );
        return covered.map(({ deviceId, reason, topic, base64, receivedAtMs }) => {
          return { deviceId, reason, topic, base64, receivedAt: formatTime(receivedAtMs) };
        });
      },
    }),
    raiseTestAlarm: post(`${ITEM}/test-alarm`, {
      tag: 'Devices',
      summary: 'Raise an alarm as the device would, marked as a test',
      description:
        'Goes the way of every alarm, to everyone who receives those of the device: `data` has `"test": true`. Answered once it is stored.',
      right: rights.device('manager'),
      body: NewTestAlarm,
      isBodyOptional: true,
      answer: accepted('The id of the alarm.', TestAlarm),
      handle: async ({ path, body: { kind }, caller }) => ({
        id: await testAlarms.raise({ ...path, kind, actor: caller.actor }),
      }),
    }),
  };
}
