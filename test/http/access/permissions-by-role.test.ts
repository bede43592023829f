import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Grant } from '../../../src/domain/grants.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { type TestGateway, useGateway } from '../harness.js';
import { fill, protectedRoutesOf, type Route } from '../routes.js';

const running = useGateway(useRedis());

type Need =
  | 'a token'
  | 'viewer of some'
  | 'viewer of the location'
  | 'responder of some'
  | 'manager of some'
  | 'manager of the location'
  | 'manager of the group'
  | 'manager of the room'
  | 'viewer of the group'
  | 'viewer of the room'
  | 'viewer of the device'
  | 'manager of the device'
  | 'admin';

/** contract.md, 2, route by route; a missing route fails the test. */
const NEEDS: Readonly<Record<string, Need>> = {
  'GET /connections': 'admin',
  'GET /connections/denied': 'admin',
  'GET /sessions': 'admin',
  'GET /bridges': 'admin',
  'GET /outputs': 'admin',
  'GET /outputs/:name/dead-letters': 'admin',
  'POST /outputs/:name/dead-letters/send-again': 'admin',
  'DELETE /bridges/:name': 'admin',
  'GET /bridges/:name/dead-letters': 'admin',
  'GET /care-homes': 'a token',
  'POST /care-homes': 'admin',
  'GET /care-homes/:locationId': 'viewer of some',
  'PATCH /care-homes/:locationId': 'manager of the location',
  'DELETE /care-homes/:locationId': 'admin',
  'GET /care-homes/:locationId/groups': 'viewer of some',
  'POST /care-homes/:locationId/groups': 'manager of the location',
  'GET /care-homes/:locationId/groups/:groupId': 'viewer of the group',
  'PATCH /care-homes/:locationId/groups/:groupId': 'manager of the group',
  'DELETE /care-homes/:locationId/groups/:groupId': 'manager of the group',
  'POST /care-homes/:locationId/groups/:groupId/rooms/:roomId/move': 'manager of the group',
  'GET /care-homes/:locationId/rooms': 'viewer of some',
  'POST /care-homes/:locationId/rooms': 'manager of some',
  'GET /care-homes/:locationId/rooms/:roomId': 'viewer of the room',
  'PATCH /care-homes/:locationId/rooms/:roomId': 'manager of the room',
  'DELETE /care-homes/:locationId/rooms/:roomId': 'manager of the room',
  'GET /care-homes/:locationId/devices': 'viewer of some',
  'POST /care-homes/:locationId/devices': 'manager of the location',
  'GET /care-homes/:locationId/devices/:deviceId': 'viewer of the device',
  'PATCH /care-homes/:locationId/devices/:deviceId': 'manager of the device',
  'DELETE /care-homes/:locationId/devices/:deviceId': 'manager of the device',
  'POST /care-homes/:locationId/devices/:deviceId/test-alarm': 'manager of the device',
  'POST /care-homes/:locationId/devices/:deviceId/secret': 'manager of the device',
  'POST /care-homes/:locationId/devices/:deviceId/move': 'manager of the device',
  'GET /care-homes/:locationId/devices/:deviceId/custom-data': 'viewer of the device',
  'PATCH /care-homes/:locationId/devices/:deviceId/custom-data': 'manager of the device',
  'GET /care-homes/:locationId/devices/:deviceId/alarms': 'viewer of the device',
  'GET /care-homes/:locationId/drills': 'viewer of the location',
  'POST /care-homes/:locationId/drills': 'manager of the location',
  'GET /care-homes/:locationId/supervision': 'viewer of some',
  'GET /care-homes/:locationId/alarms': 'viewer of some',
  // With a grant on a group, a missing alarm looks like an alarm elsewhere.
  'GET /care-homes/:locationId/alarms/:alarmId': 'viewer of the location',
  'GET /care-homes/:locationId/alarms/:alarmId/deliveries': 'viewer of the location',
  'GET /care-homes/:locationId/alarm-counts': 'viewer of some',
  'GET /alarms': 'a token',
  'POST /care-homes/:locationId/alarms/:alarmId/acknowledge': 'responder of some',
  'POST /care-homes/:locationId/alarms/:alarmId/resolve': 'responder of some',
  'GET /care-homes/:locationId/rejected': 'viewer of some',
  'GET /access-tokens': 'admin',
  'GET /access-tokens/current': 'a token',
  'GET /events': 'a token',
  'POST /access-tokens': 'admin',
  'GET /access-tokens/:tokenId': 'admin',
  'PATCH /access-tokens/:tokenId': 'admin',
  'POST /access-tokens/:tokenId/secret': 'admin',
  'DELETE /access-tokens/:tokenId': 'admin',
  'GET /audit': 'admin',
  'GET /faults': 'a token',
  'POST /faults/:code/acknowledge': 'admin',
};

const GROUP_VIEWER: readonly Need[] = [
  'a token',
  'viewer of some',
  'viewer of the group',
  'viewer of the room',
  'viewer of the device',
];
const VIEWER: readonly Need[] = [...GROUP_VIEWER, 'viewer of the location'];
const GROUP_RESPONDER: readonly Need[] = [...GROUP_VIEWER, 'responder of some'];
const RESPONDER: readonly Need[] = [...VIEWER, 'responder of some'];
const GROUP_MANAGER: readonly Need[] = [
  ...GROUP_RESPONDER,
  'manager of some',
  'manager of the group',
  'manager of the room',
  'manager of the device',
];
const MANAGER: readonly Need[] = [
  ...GROUP_MANAGER,
  'viewer of the location',
  'manager of the location',
];
const ADMIN: readonly Need[] = [...MANAGER, 'admin'];

interface Holder {
  readonly grants: (locationId: string, groupId: string) => readonly Grant[];
  readonly fulfils: readonly Need[];
}

/** Grants of the holders; the location's device is in a room of the group. */
const HOLDERS: Readonly<Record<string, Holder>> = {
  'a viewer of another location': {
    grants: () => [{ location: randomUUID(), role: 'viewer' }],
    fulfils: ['a token'],
  },
  'a manager of another location': {
    grants: () => [{ location: randomUUID(), role: 'manager' }],
    fulfils: ['a token'],
  },
  'a viewer of the location': {
    grants: (location) => [{ location, role: 'viewer' }],
    fulfils: VIEWER,
  },
  'a responder of the location': {
    grants: (location) => [{ location, role: 'responder' }],
    fulfils: RESPONDER,
  },
  "a responder of the device's group": {
    grants: (location, group) => [{ location, group, role: 'responder' }],
    fulfils: GROUP_RESPONDER,
  },
  'a manager of the location': {
    grants: (location) => [{ location, role: 'manager' }],
    fulfils: MANAGER,
  },
  'a viewer of all locations': {
    grants: () => [{ location: '*', role: 'viewer' }],
    fulfils: VIEWER,
  },
  'a manager of all locations': {
    grants: () => [{ location: '*', role: 'manager' }],
    fulfils: MANAGER,
  },
  'an administrator': { grants: () => [{ location: '*', role: 'admin' }], fulfils: ADMIN },
  "a viewer of the device's group": {
    grants: (location, group) => [{ location, group, role: 'viewer' }],
    fulfils: GROUP_VIEWER,
  },
  "a manager of the device's group": {
    grants: (location, group) => [{ location, group, role: 'manager' }],
    fulfils: GROUP_MANAGER,
  },
  'a manager of another group of the location': {
    grants: (location) => [{ location, group: randomUUID(), role: 'manager' }],
    fulfils: ['a token', 'viewer of some', 'responder of some', 'manager of some'],
  },
  'a viewer of the location who manages another': {
    grants: (location) => [
      { location, role: 'viewer' },
      { location: randomUUID(), role: 'manager' },
    ],
    fulfils: VIEWER,
  },
};

/** An invalid body, so that a permitted request changes nothing. */
const UNREADABLE = { body: 'no json', headers: { 'Content-Type': 'application/json' } };

function optionsFor({ method }: Route, token: string) {
  return method === 'PATCH' || method === 'POST' ? { token, ...UNREADABLE } : { token };
}

async function freshDevice(gateway: TestGateway) {
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  return { locationId, deviceId, ...(await gateway.placeInGroup(locationId, deviceId)) };
}

describe('permissions', () => {
  for (const [name, { grants, fulfils }] of Object.entries(HOLDERS)) {
    it(`of ${name}`, async () => {
      const gateway = running();
      const begin = async () => {
        const ids = await freshDevice(gateway);
        return { ids, token: await gateway.createToken(grants(ids.locationId, ids.groupId)) };
      };
      let { ids, token } = await begin();
      for (const route of protectedRoutesOf()) {
        const key = `${route.method} ${route.path}`;
        const need = NEEDS[key];
        if (need === undefined) throw new Error(`Who may ${key}?`);
        const answer = await gateway.call(
          route.method,
          fill(route.path, ids),
          optionsFor(route, token),
        );
        const isPermitted = ![401, 403].includes(answer.status);
        expect(`${key}: ${isPermitted}`).toBe(`${key}: ${fulfils.includes(need)}`);
        if (!isPermitted) expect(failure(answer)).toBe('403 forbidden');
        // A changed or deleted resource is of no more use.
        if (route.method !== 'GET' && answer.status < 300) ({ ids, token } = await begin());
      }
    });
  }
});
