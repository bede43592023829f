import { expect } from 'vitest';
import type { Event } from './audit-pages.js';
import type { World } from './audit-world.js';

export interface Change {
  readonly ids?: (world: World) => Readonly<Record<string, string>>;
  readonly json?: (world: World) => object;
  readonly action: string;
  /** The resource's name in the world, or `created` for the id in the answer. */
  readonly resource: keyof World | 'created';
  readonly location?: 'created' | 'none';
  readonly details: (world: World) => Event['details'];
}

const LATER = '2100-01-01T00:00:00.000Z';
const VIEWER = [{ location: '*', role: 'viewer' }];

/** Every route that changes something; a missing one fails the test. */
export const CHANGES: Readonly<Record<string, readonly Change[]>> = {
  'POST /care-homes': [
    {
      json: () => ({ name: ' Haus Linde ' }),
      action: 'location.created',
      resource: 'created',
      location: 'created',
      details: () => ({ name: 'Haus Linde' }),
    },
  ],
  'PATCH /care-homes/:locationId': [
    {
      json: () => ({ name: 'Haus Linde' }),
      action: 'location.changed',
      resource: 'locationId',
      details: () => ({ name: 'Haus Linde', previousName: 'Haus Birke' }),
    },
  ],
  'DELETE /care-homes/:locationId': [
    {
      ids: ({ otherLocationId }) => ({ locationId: otherLocationId }),
      action: 'location.deleted',
      resource: 'otherLocationId',
      details: ({ goneGroupId, goneRoomId }) => ({
        groups: JSON.stringify([{ id: goneGroupId, name: 'Station 9' }]),
        rooms: JSON.stringify([{ id: goneRoomId, name: 'Zimmer 1' }]),
        name: 'Haus Eiche',
      }),
    },
  ],
  'POST /care-homes/:locationId/groups': [
    {
      json: () => ({ name: 'Station 3' }),
      action: 'group.created',
      resource: 'created',
      details: () => ({ name: 'Station 3' }),
    },
  ],
  'PATCH /care-homes/:locationId/groups/:groupId': [
    {
      json: () => ({ name: 'Station 3' }),
      action: 'group.changed',
      resource: 'groupId',
      details: () => ({ name: 'Station 3', previousName: 'Station 1' }),
    },
  ],
  'DELETE /care-homes/:locationId/groups/:groupId': [
    {
      ids: ({ otherGroupId }) => ({ groupId: otherGroupId }),
      action: 'group.deleted',
      resource: 'otherGroupId',
      details: () => ({ name: 'Station 2' }),
    },
  ],
  'POST /care-homes/:locationId/groups/:groupId/rooms/:roomId/move': [
    {
      json: ({ otherGroupId }) => ({ targetGroupId: otherGroupId }),
      action: 'room.moved',
      resource: 'roomId',
      details: ({ groupId, otherGroupId }) => ({ groupId: otherGroupId, previousGroupId: groupId }),
    },
  ],
  'POST /care-homes/:locationId/rooms': [
    {
      json: ({ groupId }) => ({ name: 'Zimmer 2', groupId }),
      action: 'room.created',
      resource: 'created',
      details: ({ groupId }) => ({ name: 'Zimmer 2', groupId }),
    },
  ],
  'PATCH /care-homes/:locationId/rooms/:roomId': [
    {
      json: () => ({ name: 'Zimmer 2' }),
      action: 'room.changed',
      resource: 'roomId',
      details: () => ({ name: 'Zimmer 2', previousName: 'Zimmer 1' }),
    },
    {
      json: () => ({ groupId: null }),
      action: 'room.changed',
      resource: 'roomId',
      details: ({ groupId }) => ({ groupId: null, previousGroupId: groupId }),
    },
  ],
  'DELETE /care-homes/:locationId/rooms/:roomId': [
    {
      ids: ({ emptyRoomId }) => ({ roomId: emptyRoomId }),
      action: 'room.deleted',
      resource: 'emptyRoomId',
      details: ({ groupId }) => ({ name: 'Zimmer 1', groupId }),
    },
  ],
  'POST /care-homes/:locationId/devices': [
    {
      json: () => ({ name: 'Bett 2' }),
      action: 'device.created',
      resource: 'created',
      details: () => ({ name: 'Bett 2' }),
    },
  ],
  'PATCH /care-homes/:locationId/devices/:deviceId': [
    {
      json: () => ({ name: 'Bett 2' }),
      action: 'device.changed',
      resource: 'deviceId',
      details: () => ({ name: 'Bett 2', previousName: 'Bett 1' }),
    },
    {
      json: () => ({ limits: { messagesPerSecond: 50, alarmsPerDay: null } }),
      action: 'device.changed',
      resource: 'deviceId',
      details: () => ({
        messagesPerSecond: '50',
        previousMessagesPerSecond: null,
        alarmsPerDay: null,
        previousAlarmsPerDay: null,
      }),
    },
  ],
  'DELETE /care-homes/:locationId/devices/:deviceId': [
    {
      action: 'device.deleted',
      resource: 'deviceId',
      details: ({ roomId }) => ({ name: 'Bett 1', roomId }),
    },
  ],
  'POST /care-homes/:locationId/devices/:deviceId/secret': [
    { action: 'device.secret-replaced', resource: 'deviceId', details: () => ({}) },
  ],
  'POST /care-homes/:locationId/devices/:deviceId/test-alarm': [
    {
      json: () => ({ kind: 'fall' }),
      action: 'alarm.tested',
      resource: 'deviceId',
      details: () => ({ kind: 'fall' }),
    },
  ],
  'POST /care-homes/:locationId/devices/:deviceId/move': [
    {
      json: ({ emptyRoomId }) => ({ targetRoomId: emptyRoomId }),
      action: 'device.moved',
      resource: 'deviceId',
      details: ({ roomId, emptyRoomId, locationId }) => ({
        targetLocationId: locationId,
        targetRoomId: emptyRoomId,
        previousRoomId: roomId,
      }),
    },
    {
      json: ({ otherLocationId }) => ({ targetLocationId: otherLocationId }),
      action: 'device.moved',
      resource: 'deviceId',
      details: ({ roomId, otherLocationId }) => ({
        targetLocationId: otherLocationId,
        targetRoomId: null,
        previousRoomId: roomId,
      }),
    },
  ],
  'PATCH /care-homes/:locationId/devices/:deviceId/custom-data': [
    {
      json: () => ({ patient: 'Frau Krause' }),
      action: 'custom-data.changed',
      resource: 'deviceId',
      details: () => ({ mode: 'replace' }),
    },
  ],
  'POST /access-tokens': [
    {
      json: () => ({ name: 'bridge', grants: VIEWER, expiresAt: LATER }),
      action: 'access-token.created',
      resource: 'created',
      location: 'none',
      details: () => ({ name: 'bridge', grants: VIEWER, expiresAt: LATER }),
    },
  ],
  'POST /care-homes/:locationId/alarms/:alarmId/acknowledge': [
    {
      json: () => ({ note: 'Frau Krause is well' }),
      action: 'alarm.acknowledged',
      resource: 'alarmId',
      details: ({ deviceId }) => ({ deviceId }),
    },
  ],
  'POST /care-homes/:locationId/alarms/:alarmId/resolve': [
    {
      action: 'alarm.resolved',
      resource: 'alarmId',
      details: ({ deviceId }) => ({ deviceId }),
    },
  ],
  'POST /faults/:code/acknowledge': [
    {
      action: 'fault.acknowledged',
      resource: 'code',
      location: 'none',
      details: () => ({ message: expect.stringContaining('200 alarms') }),
    },
  ],
  'DELETE /bridges/:name': [
    {
      action: 'bridge.deleted',
      resource: 'name',
      location: 'none',
      details: () => ({}),
    },
  ],
  'POST /care-homes/:locationId/drills': [
    {
      action: 'alarm.tested',
      resource: 'deviceId',
      details: () => ({ kind: 'helpCall' }),
    },
  ],
  'POST /outputs/:name/dead-letters/send-again': [
    {
      action: 'output.sent-again',
      resource: 'name',
      location: 'none',
      details: () => ({}),
    },
  ],
  'PATCH /access-tokens/:tokenId': [
    {
      json: () => ({ name: 'board', expiresAt: LATER }),
      action: 'access-token.changed',
      resource: 'tokenId',
      location: 'none',
      details: () => ({
        name: 'board',
        previousName: 'nurse call',
        expiresAt: LATER,
        previousExpiresAt: null,
      }),
    },
  ],
  'POST /access-tokens/:tokenId/secret': [
    {
      action: 'access-token.secret-replaced',
      resource: 'tokenId',
      location: 'none',
      details: () => ({ name: 'nurse call' }),
    },
  ],
  'DELETE /access-tokens/:tokenId': [
    {
      action: 'access-token.deleted',
      resource: 'tokenId',
      location: 'none',
      details: () => ({ name: 'nurse call' }),
    },
  ],
};
