import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { silentAfterSchema } from '../../domain/rules.js';
import type { Device } from '../../domain/site.js';
import { formatTime } from '../../domain/time.js';
import type { Actor } from '../../site/audit-trail.js';
import type { PresenceView } from '../../site/presence-view.js';
import type { DeviceKey } from '../../site/site-store.js';
import { actorOf } from '../actor.js';
import { conditionalActor, entityTag, notModifiedIfKnown, tagged } from '../conditional.js';
import type { RouteServices } from '../dependencies.js';
import {
  createdResponse,
  emptyJsonRequestBody,
  ifMatchHeaders,
  jsonRequestBody,
  jsonResponse,
  problems,
} from '../documents/openapi.js';
import { itemRoutes, listRoute } from '../documents/resource-routes.js';
import type { HttpApp, HttpEnv } from '../http-env.js';
import {
  devicePathSchema,
  EXAMPLE_ID,
  idSchema,
  locationPathSchema,
  namedSchema,
  nameSchema,
  timestampSchema,
  uuidSchema,
} from '../schemas/common.js';
import { createdHeaders } from '../server/public-url.js';

const deviceSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Fall sensor, bed 2' }),
    locationId: idSchema,
    roomId: idSchema.nullable(),
    online: z.boolean(),
    lastSeenAt: timestampSchema.nullable(),
    via: namedSchema.optional().openapi({
      description: 'The access token of the hub through which it was last heard; if it was.',
      example: { id: EXAMPLE_ID, name: 'Zigbee hub' },
    }),
    createdAt: timestampSchema,
    supervision: z
      .object({ silentAfterSeconds: z.int() })
      .optional()
      .openapi({ description: 'A time of its own after which it is silent; if it has one.' }),
  })
  .openapi('Device');

const secret = z.string().openapi({
  description: 'The MQTT password, shown only once.',
  example: 'zvjLO6xy254jZ6ZjSlp6EyWlp8RY_FuagsCD0j-QCwA',
});

const createdDeviceSchema = deviceSchema.extend({ secret }).openapi('CreatedDevice');
const deviceSecretSchema = z.object({ secret }).openapi('DeviceSecret');

const newDeviceSchema = z
  .strictObject({ name: nameSchema, id: uuidSchema.optional() })
  .openapi('NewDevice');

const deviceChangeSchema = z
  .strictObject({
    name: nameSchema.optional(),
    supervision: z
      .strictObject({
        silentAfterSeconds: silentAfterSchema
          .nullable()
          .optional()
          .openapi({
            type: ['integer', 'null'],
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
  .openapi('DeviceChange', { minProperties: 1, example: { name: 'Fall sensor, bed 2' } });

/** A device in a response: its record and its presence. */
function deviceView(device: Device, presence: PresenceView): z.infer<typeof deviceSchema> {
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

/** The actor of a change of a device, with the request's preconditions. */
export function deviceActor(
  c: Context<HttpEnv>,
  key: DeviceKey,
  { model, presence }: Pick<RouteServices, 'model' | 'presence'>,
): Actor {
  return conditionalActor(c, () => deviceTag(deviceView(model.requireDevice(key), presence)));
}

/** For a change, a device counts as unchanged even if it has connected or sent something meanwhile. */
function deviceTag({ online, lastSeenAt, via, ...made }: z.infer<typeof deviceSchema>): string {
  return entityTag(made, { online, lastSeenAt, via });
}

const tags = ['Devices'];
const collection = '/care-homes/{locationId}/devices';
const item = `${collection}/{deviceId}` as const;

const list = listRoute(collection, locationPathSchema, 'Device', deviceSchema);

const create = createRoute({
  method: 'post',
  path: collection,
  operationId: 'createDevice',
  summary: 'Create a device; only this answer shows its secret',
  tags,
  request: { params: locationPathSchema, body: jsonRequestBody(newDeviceSchema) },
  responses: {
    201: createdResponse('The device, with its secret.', createdDeviceSchema),
    ...problems.conflict,
  },
});

const { get, change, remove } = itemRoutes({
  path: item,
  params: devicePathSchema,
  name: 'Device',
  view: deviceSchema,
  change: deviceChangeSchema,
  summaries: {
    change: 'Rename a device, or set a time of silence of its own',
    remove: 'Delete a device; its alarm history stays',
  },
  removing: {},
});

/** Replaces broken hardware, too: same id, room, name and history (docs/reference/contract.md, 2). */
const replaceSecret = createRoute({
  method: 'post',
  path: `${item}/secret`,
  operationId: 'replaceDeviceSecret',
  summary: 'Give a device a new secret; the old one stops working at once',
  description:
    'Live connections with the old secret are closed. Use this to replace broken hardware: id, room, name and history stay.',
  tags,
  request: { params: devicePathSchema, headers: ifMatchHeaders, body: emptyJsonRequestBody },
  responses: { 200: jsonResponse('The secret, shown only once.', deviceSecretSchema) },
});

/** The devices of a location. */
export function registerDevices(app: HttpApp, services: RouteServices): void {
  const { devices, model, presence, access, readsJson, readsOptionalJson, publicUrl } = services;

  app.openapi({ ...list, middleware: [access.partOfLocation('viewer')] }, (c) => {
    const { locationId } = c.req.valid('param');
    const views = access.devicesOf(c, locationId).map((device) => deviceView(device, presence));
    return c.json(views, 200);
  });

  app.openapi({ ...create, middleware: [access.location('manager'), readsJson] }, async (c) => {
    const { name, id } = c.req.valid('json');
    const { locationId } = c.req.valid('param');
    const { device, secret } = await devices.create(actorOf(c), locationId, name, id);
    const headers = createdHeaders(c, device.id, publicUrl);
    return c.json({ ...deviceView(device, presence), secret }, 201, headers);
  });

  const actorFor = (c: Context<HttpEnv>, key: DeviceKey) => deviceActor(c, key, services);
  const answered = (c: Context<HttpEnv>, device: Device) => {
    const view = deviceView(device, presence);
    return tagged(c, view, deviceTag(view));
  };

  app.openapi({ ...get, middleware: [access.device('viewer'), notModifiedIfKnown] }, (c) =>
    c.json(answered(c, model.requireDevice(c.req.valid('param'))), 200),
  );

  app.openapi({ ...change, middleware: [access.device('manager'), readsJson] }, async (c) => {
    const key = c.req.valid('param');
    const device = await devices.change(actorFor(c, key), key, c.req.valid('json'));
    return c.json(answered(c, device), 200);
  });

  app.openapi({ ...remove, middleware: [access.device('manager')] }, async (c) => {
    const key = c.req.valid('param');
    await devices.delete(actorFor(c, key), key);
    return c.body(null, 204);
  });

  const guards = [access.device('manager'), readsOptionalJson];
  app.openapi({ ...replaceSecret, middleware: guards }, async (c) => {
    const key = c.req.valid('param');
    const secret = await devices.replaceSecret(actorFor(c, key), key);
    return c.json({ secret }, 200);
  });
}
