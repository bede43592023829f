/** Locations, their groups and rooms, and moves of rooms (specification 1 to 3). */

import { z } from 'zod';
import { touchesLocation } from '../../domain/grants.js';
import type { Group, Location, Room } from '../../domain/site.js';
import type { Caller } from '../caller.js';
import { entityTag } from '../conditional.js';
import { id, Name, name, uuid, uuidOrNull } from '../fields.js';
import { resource } from '../resource.js';
import { admin, anyToken, type Ids, type Rights } from '../rights.js';
import { done, post, type Routes } from '../route.js';
import type { HttpServices } from '../services.js';

export function siteRoutes(services: HttpServices, rights: Rights): Routes {
  return {
    ...locationRoutes(services, rights),
    ...groupRoutes(services, rights),
    ...roomRoutes(services, rights),
  };
}

const CONFLICT = { 409: 'The change conflicts with the present state; `code` says how.' };

export const LocationView = z
  .object({
    id,
    name: z.string().meta({ examples: ['Haus Birke'] }),
    devices: z.array(id).meta({
      description: 'Ids of the assigned devices that the access token covers.',
    }),
  })
  .meta({ id: 'Location' });

function locationRoutes({ model, operations }: HttpServices, rights: Rights): Routes {
  const view = (location: Location, devices: string[]) => ({
    id: location.id,
    name: location.name,
    devices,
  });
  return resource('/care-homes', 'locationId', {
    name: 'Location',
    view: LocationView,
    show: ({ locationId }: Ids<'locationId'>, caller: Caller) => {
      const location = model.requireLocation(locationId);
      return view(
        location,
        rights.devicesOf(caller, locationId).map(({ id }) => id),
      );
    },
    list: {
      right: anyToken,
      handle: ({ caller }) => {
        const deviceIds = rights.deviceIdsByLocation(caller);
        const covered = model.locations().filter(({ id }) => touchesLocation(caller.grants, id));
        return covered.map((location) => view(location, deviceIds.get(location.id) ?? []));
      },
    },
    create: {
      right: admin,
      body: Name,
      view: LocationView,
      handle: async ({ body, caller }) =>
        view(await operations.createLocation(caller.actor, body.name), []),
    },
    get: rights.partOf('viewer'),
    change: {
      right: rights.location('manager'),
      summary: 'Rename a location',
      body: Name,
      handle: ({ path, body, caller }) =>
        operations.renameLocation(caller.actor, path.locationId, body.name),
    },
    remove: {
      right: rights.adminOfLocation(),
      summary: 'Delete a location that has no devices, with its rooms and groups',
      problems: CONFLICT,
      handle: ({ path, caller }) => operations.deleteLocation(caller.actor, path.locationId),
    },
  });
}

export const GroupView = z
  .object({
    id,
    name: z.string().meta({ examples: ['Ground floor'] }),
    rooms: z.array(id).meta({ description: 'Ids of the rooms in the group.' }),
  })
  .meta({ id: 'Group' });

function groupRoutes({ model, operations }: HttpServices, rights: Rights): Routes {
  const view = (group: Group, roomIds: readonly string[] = []) => ({
    id: group.id,
    name: group.name,
    rooms: [...roomIds],
  });
  return resource('/care-homes/{locationId}/groups', 'groupId', {
    name: 'Group',
    view: GroupView,
    show: (path) =>
      view(model.requireGroup(path), model.roomIdsByGroup(path.locationId).get(path.groupId)),
    list: {
      right: rights.partOf('viewer'),
      handle: ({ path: { locationId }, caller }) => {
        const roomIds = model.roomIdsByGroup(locationId);
        return rights
          .groupsOf(caller, locationId)
          .map((group) => view(group, roomIds.get(group.id)));
      },
    },
    create: {
      right: rights.location('manager'),
      body: Name,
      view: GroupView,
      handle: async ({ path, body, caller }) =>
        view(await operations.createGroup(caller.actor, path.locationId, body.name)),
    },
    get: rights.group('viewer'),
    change: {
      right: rights.group('manager'),
      summary: 'Rename a group',
      body: Name,
      handle: ({ path, body, caller }) => operations.renameGroup(caller.actor, path, body.name),
    },
    remove: {
      right: rights.group('manager'),
      summary: 'Delete a group that has no rooms',
      problems: CONFLICT,
      handle: ({ path, caller }) => operations.deleteGroup(caller.actor, path),
    },
  });
}

export const RoomView = z
  .object({
    id,
    name: z.string().meta({ examples: ['Room 7'] }),
    groupId: id.nullable(),
    devices: z.array(id).meta({ description: 'Ids of the devices in the room.' }),
  })
  .meta({ id: 'Room' });

export const NewRoom = z
  .strictObject({ name, groupId: uuidOrNull.optional() })
  .meta({ id: 'NewRoom' });

export const RoomChange = z
  .strictObject({
    name: name.optional(),
    groupId: uuidOrNull.optional().meta({ description: 'Null takes the room out of its group.' }),
  })
  .refine(
    (change) => change.name !== undefined || change.groupId !== undefined,
    'must have at least one of name and groupId',
  )
  .meta({ id: 'RoomChange', minProperties: 1 });

const RoomMove = z.strictObject({ targetGroupId: uuid }).meta({ id: 'RoomMove' });

function roomRoutes({ model, operations }: HttpServices, rights: Rights): Routes {
  const view = (room: Room, deviceIds: readonly string[] = []) => ({
    id: room.id,
    name: room.name,
    groupId: room.groupId,
    devices: [...deviceIds],
  });
  const show = (path: Ids<'locationId' | 'roomId'>) =>
    view(model.requireRoom(path), model.deviceIdsByRoom(path.locationId).get(path.roomId));
  return {
    ...resource('/care-homes/{locationId}/rooms', 'roomId', {
      name: 'Room',
      view: RoomView,
      show,
      list: {
        right: rights.partOf('viewer'),
        handle: ({ path: { locationId }, caller }) => {
          const deviceIds = model.deviceIdsByRoom(locationId);
          return rights
            .roomsOf(caller, locationId)
            .map((room) => view(room, deviceIds.get(room.id)));
        },
      },
      create: {
        // A grant on a group covers the group's rooms, new ones included (contract 2).
        right: rights.partOf('manager'),
        body: NewRoom,
        view: RoomView,
        handle: async ({ path: { locationId }, body, caller }) => {
          const { groupId = null } = body;
          caller.mustHave('manager', { locationId, groupId });
          return view(await operations.createRoom(caller.actor, locationId, body.name, groupId));
        },
      },
      get: rights.room('viewer'),
      change: {
        right: rights.room('manager'),
        summary: 'Rename a room, or change its group',
        body: RoomChange,
        handle: ({ path, body, caller }) => {
          const { locationId } = path;
          const { groupId } = body;
          // Leaving a group needs the role over the room only, joining one that over the group, too.
          if (typeof groupId === 'string') caller.mustHave('manager', { locationId, groupId });
          return operations.changeRoom(caller.actor, path, body);
        },
      },
      remove: {
        right: rights.room('manager'),
        summary: 'Delete a room that has no devices',
        problems: CONFLICT,
        handle: ({ path, caller }) => operations.deleteRoom(caller.actor, path),
      },
    }),
    moveRoom: post('/care-homes/{locationId}/groups/{groupId}/rooms/{roomId}/move', {
      tag: 'Groups',
      summary: 'Move a room from its group to another',
      // Permission over both sides is checked before the existence of either.
      right: rights.groupUnseen('manager'),
      body: RoomMove,
      answer: done,
      tagNow: (path) => entityTag(show(path)),
      handle: async ({ path, body: { targetGroupId }, caller }) => {
        const { locationId, groupId } = path;
        caller.mustHave('manager', { locationId, groupId: targetGroupId });
        model.requireRoomOfGroup(path);
        await operations.moveRoom(caller.actor, path, groupId, targetGroupId);
      },
    }),
  };
}
