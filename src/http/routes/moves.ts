import { createRoute, z } from '@hono/zod-openapi';
import type { RouteServices } from '../dependencies.js';
import { ifMatchHeaders, jsonRequestBody, noContent } from '../documents/openapi.js';
import type { HttpApp } from '../http-env.js';
import {
  devicePathSchema,
  nullableUuidSchema,
  roomOfGroupPathSchema,
  uuidSchema,
} from '../schemas/common.js';
import { deviceActor } from './devices.js';
import { roomActor } from './rooms.js';

/** The target of a move: exactly one of two fields. */
const deviceMoveSchema = z
  .strictObject({
    targetLocationId: uuidSchema.optional(),
    targetRoomId: nullableUuidSchema
      .optional()
      .openapi({ description: 'A room of the location; null takes the device out of its room.' }),
  })
  .refine(
    ({ targetLocationId, targetRoomId }) =>
      (targetLocationId === undefined) !== (targetRoomId === undefined),
    'must have exactly one of targetLocationId and targetRoomId',
  )
  .openapi('DeviceMove', {
    description: 'Exactly one of the two.',
    minProperties: 1,
    maxProperties: 1,
  });

const roomMoveSchema = z.strictObject({ targetGroupId: uuidSchema }).openapi('RoomMove');

const responses = { 204: noContent };

const moveDevice = createRoute({
  method: 'post',
  path: '/care-homes/{locationId}/devices/{deviceId}/move',
  operationId: 'moveDevice',
  summary: 'Move a device to another location, into a room, or out of its room',
  description:
    'Needs a manager on both sides. Moving to another location leaves the room; `"targetRoomId": null` takes the device out of its room.',
  tags: ['Devices'],
  request: {
    params: devicePathSchema,
    headers: ifMatchHeaders,
    body: jsonRequestBody(deviceMoveSchema),
  },
  responses,
});

const moveRoom = createRoute({
  method: 'post',
  path: '/care-homes/{locationId}/groups/{groupId}/rooms/{roomId}/move',
  operationId: 'moveRoom',
  summary: 'Move a room from its group to another',
  tags: ['Groups'],
  request: {
    params: roomOfGroupPathSchema,
    headers: ifMatchHeaders,
    body: jsonRequestBody(roomMoveSchema),
  },
  responses,
});

/**
 * Moves of devices and rooms.
 *
 * Permission over both sides is checked before the existence of either.
 */
export function registerMoves(app: HttpApp, services: RouteServices): void {
  const { devices, rooms, model, access, readsJson } = services;

  const movesDevice = [access.permissionOverDevice('manager'), readsJson];
  app.openapi({ ...moveDevice, middleware: movesDevice }, async (c) => {
    const key = c.req.valid('param');
    const { targetLocationId, targetRoomId = null } = c.req.valid('json');
    const { locationId } = key;
    if (targetLocationId !== undefined) {
      // Both whole locations are needed: a grant on the device's group is not enough (docs/reference/contract.md, 2).
      access.requireOver(c, 'manager', { locationId });
      access.requireOver(c, 'manager', { locationId: targetLocationId });
      model.requireDevice(key);
      await devices.moveToLocation(deviceActor(c, key, services), key, targetLocationId);
    } else {
      if (targetRoomId !== null) {
        access.requireOverRoom(c, 'manager', { locationId, roomId: targetRoomId });
      }
      model.requireDevice(key);
      await devices.moveToRoom(deviceActor(c, key, services), key, targetRoomId);
    }
    return c.body(null, 204);
  });

  const movesRoom = [access.permissionOverRoomOfGroup('manager'), readsJson];
  app.openapi({ ...moveRoom, middleware: movesRoom }, async (c) => {
    const { groupId, ...key } = c.req.valid('param');
    const { targetGroupId } = c.req.valid('json');
    access.requireOver(c, 'manager', { locationId: key.locationId, groupId: targetGroupId });
    model.requireRoomOfGroup({ ...key, groupId });
    await rooms.move(roomActor(c, key, model), key, groupId, targetGroupId);
    return c.body(null, 204);
  });
}
