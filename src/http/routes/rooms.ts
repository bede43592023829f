import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Room } from '../../domain/site.js';
import type { Actor } from '../../site/audit-trail.js';
import type { SiteModel } from '../../site/site-model.js';
import type { RoomKey } from '../../site/site-store.js';
import { actorOf } from '../actor.js';
import { conditionalActor, entityTag, notModifiedIfKnown, tagged } from '../conditional.js';
import type { RouteServices } from '../dependencies.js';
import { problems } from '../documents/openapi.js';
import { createdRoute, itemRoutes, listRoute } from '../documents/resource-routes.js';
import type { HttpApp, HttpEnv } from '../http-env.js';
import {
  idSchema,
  locationPathSchema,
  nameSchema,
  nullableUuidSchema,
  roomPathSchema,
} from '../schemas/common.js';
import { createdHeaders } from '../server/public-url.js';

const roomSchema = z
  .object({
    id: idSchema,
    name: z.string().openapi({ example: 'Room 7' }),
    groupId: idSchema.nullable(),
    devices: z.array(idSchema).openapi({ description: 'Ids of the devices in the room.' }),
  })
  .openapi('Room');

/** The group of a new room: none with `null` or without the field. */
const newGroupId = nullableUuidSchema.optional();

const newRoomSchema = z.strictObject({ name: nameSchema, groupId: newGroupId }).openapi('NewRoom');

const roomChangeSchema = z
  .strictObject({
    name: nameSchema.optional(),
    groupId: newGroupId.openapi({ description: 'Null takes the room out of its group.' }),
  })
  .refine(
    ({ name, groupId }) => name !== undefined || groupId !== undefined,
    'must have at least one of name and groupId',
  )
  .openapi('RoomChange', { minProperties: 1 });

/** A room in a response. */
function roomView(room: Room, deviceIds: readonly string[] = []): z.infer<typeof roomSchema> {
  return { id: room.id, name: room.name, groupId: room.groupId, devices: [...deviceIds] };
}

const collection = '/care-homes/{locationId}/rooms';
const list = listRoute(collection, locationPathSchema, 'Room', roomSchema);
const create = createdRoute(collection, locationPathSchema, 'Room', roomSchema, newRoomSchema);
const { get, change, remove } = itemRoutes({
  path: `${collection}/{roomId}`,
  params: roomPathSchema,
  name: 'Room',
  view: roomSchema,
  change: roomChangeSchema,
  summaries: {
    change: 'Rename a room, or change its group',
    remove: 'Delete a room that has no devices',
  },
  removing: problems.conflict,
});

/** The actor of a change of a room, with the request's preconditions. */
export function roomActor(c: Context<HttpEnv>, key: RoomKey, model: SiteModel): Actor {
  return conditionalActor(c, () => entityTag(presentView(model.requireRoom(key), model)));
}

function presentView(room: Room, model: SiteModel) {
  return roomView(room, model.deviceIdsByRoom(room.locationId).get(room.id));
}

/** The rooms of a location. */
export function registerRooms(app: HttpApp, services: RouteServices): void {
  const { rooms, model, access, readsJson, publicUrl } = services;

  app.openapi({ ...list, middleware: [access.partOfLocation('viewer')] }, (c) => {
    const { locationId } = c.req.valid('param');
    const deviceIds = model.deviceIdsByRoom(locationId);
    const covered = access.roomsOf(c, locationId);
    const views = covered.map((room) => roomView(room, deviceIds.get(room.id)));
    return c.json(views, 200);
  });

  // A grant on a group covers the group's rooms, new ones included (docs/reference/contract.md, 2).
  const creates = [access.partOfLocation('manager'), readsJson];
  app.openapi({ ...create, middleware: creates }, async (c) => {
    const { locationId } = c.req.valid('param');
    const { name, groupId = null } = c.req.valid('json');
    access.requireOver(c, 'manager', { locationId, groupId });
    const room = await rooms.create(actorOf(c), locationId, name, groupId);
    return c.json(roomView(room), 201, createdHeaders(c, room.id, publicUrl));
  });

  const viewOf = (room: Room) => presentView(room, model);
  const actorFor = (c: Context<HttpEnv>, key: RoomKey) => roomActor(c, key, model);

  app.openapi({ ...get, middleware: [access.room('viewer'), notModifiedIfKnown] }, (c) =>
    c.json(tagged(c, viewOf(model.requireRoom(c.req.valid('param')))), 200),
  );

  app.openapi({ ...change, middleware: [access.room('manager'), readsJson] }, async (c) => {
    const key = c.req.valid('param');
    const { locationId } = key;
    const { name, groupId } = c.req.valid('json');
    // Leaving a group needs only the role over the room; joining a group needs the role over that group, too.
    if (typeof groupId === 'string') access.requireOver(c, 'manager', { locationId, groupId });
    const room = await rooms.change(actorFor(c, key), key, { name, groupId });
    return c.json(tagged(c, viewOf(room)), 200);
  });

  app.openapi({ ...remove, middleware: [access.room('manager')] }, async (c) => {
    const key = c.req.valid('param');
    await rooms.delete(actorFor(c, key), key);
    return c.body(null, 204);
  });
}
