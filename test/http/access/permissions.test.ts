import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Grant } from '../../../src/domain/grants.js';
import { useRedis } from '../../harness/servers/shared-redis.js';
import { type CallOptions, failure } from '../client.js';
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

/** A valid body for a move: the permission on the target is checked before its existence. */
function bodyOfMove({ path }: Route): CallOptions {
  if (!path.endsWith('/move')) return {};
  return {
    json: path.includes(':roomId') ? { targetGroupId: randomUUID() } : { targetRoomId: null },
  };
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

describe('a caller without a grant on a location', () => {
  it('gets the same answer whether or not it exists, or could exist', async () => {
    const gateway = running();
    const existing = await freshDevice(gateway);
    const token = await gateway.createToken([{ location: randomUUID(), role: 'manager' }]);
    const missing = { locationId: randomUUID(), deviceId: randomUUID() };
    const malformed = {
      locationId: 'nowhere',
      groupId: '7',
      roomId: 'Zimmer%201',
      deviceId: '%2e%2e%2fsecret',
    };
    for (const route of protectedRoutesOf()) {
      if (!route.path.includes(':locationId')) continue;
      for (const ids of [existing, missing, malformed]) {
        const path = fill(route.path, ids);
        const answer = await gateway.call(route.method, path, optionsFor(route, token));
        expect(`${route.method} ${path}: ${failure(answer)}`).toBe(
          `${route.method} ${path}: 403 forbidden`,
        );
      }
    }
  });
});

describe('a caller with a grant on a group only', () => {
  it('cannot tell a resource of another group from a missing one', async () => {
    const gateway = running();
    const own = await freshDevice(gateway);
    const { locationId } = own;
    const token = await gateway.createToken([
      { location: locationId, group: own.groupId, role: 'manager' },
    ]);
    const deviceId = await gateway.createDevice(locationId, 'elsewhere');
    const foreign = { locationId, deviceId, ...(await gateway.placeInGroup(locationId, deviceId)) };
    const ungrouped = {
      ...foreign,
      roomId: await gateway.createRoom(locationId),
      deviceId: await gateway.createDevice(locationId, 'in no room'),
    };
    const missing = { locationId };
    const malformed = { locationId, groupId: '7', roomId: 'no-uuid', deviceId: 'no-uuid' };
    const routes = protectedRoutesOf().filter(({ path }) =>
      /:(deviceId|roomId|groupId)/.test(path),
    );
    for (const route of routes) {
      const ask = (ids: Readonly<Record<string, string>>) =>
        gateway.call(route.method, fill(route.path, ids), optionsFor(route, token));
      for (const ids of [foreign, ungrouped, missing, malformed]) {
        const answer = await ask(ids);
        expect(`${route.path} ${failure(answer)}`).toBe(`${route.path} 403 forbidden`);
      }
      if (route.method === 'GET') expect((await ask(own)).status).toBe(200);
    }
  });
});

describe('a caller with a grant', () => {
  it('gets 404 for missing resources and 400 for malformed ids', async () => {
    const gateway = running();
    const { locationId, deviceId } = await freshDevice(gateway);
    const other = await gateway.createLocation('another');
    const cases: [string, string][] = [
      [`/care-homes/${randomUUID()}/devices`, '404 location-not-found'],
      [`/care-homes/${randomUUID()}/devices/${deviceId}`, '404 location-not-found'],
      [`/care-homes/${locationId}/devices/${randomUUID()}`, '404 device-not-found'],
      [`/care-homes/${other}/devices/${deviceId}`, '404 device-not-found'],
      [`/care-homes/${randomUUID()}/rooms`, '404 location-not-found'],
      [`/care-homes/${randomUUID()}/groups`, '404 location-not-found'],
      ['/care-homes/nowhere/rooms', '400 invalid-request'],
      ['/care-homes/nowhere/devices', '400 invalid-request'],
      [`/care-homes/${locationId}/devices/${deviceId}x`, '400 invalid-request'],
    ];
    for (const [path, expected] of cases) {
      expect(`${path} ${failure(await gateway.admin('GET', path))}`).toBe(`${path} ${expected}`);
    }
  });

  it('reaches devices, rooms and groups through their own location only, on every route', async () => {
    const gateway = running();
    const { locationId: _, ...foreign } = await freshDevice(gateway);
    const ids = { ...foreign, locationId: await gateway.createLocation('another') };
    const token = await gateway.createToken([{ location: ids.locationId, role: 'manager' }]);
    for (const route of protectedRoutesOf()) {
      const [, kind] = /:(device|group|room)Id/.exec(route.path) ?? [];
      if (kind === undefined) continue;
      const options = { ...optionsFor(route, token), ...bodyOfMove(route) };
      const answer = await gateway.call(route.method, fill(route.path, ids), options);
      expect(`${route.path} ${failure(answer)}`).toBe(`${route.path} 404 ${kind}-not-found`);
      const asked = await gateway.admin(route.method, fill(route.path, ids), bodyOfMove(route));
      expect(`${route.path} ${failure(asked)}`).toBe(`${route.path} 404 ${kind}-not-found`);
    }
  });

  it('may write UUIDs in upper or lower case', async () => {
    const gateway = running();
    const { locationId, deviceId } = await freshDevice(gateway);
    const token = await gateway.createToken([
      { location: locationId.toUpperCase(), role: 'viewer' },
    ]);
    const path = `/care-homes/${locationId.toUpperCase()}/devices/${deviceId.toUpperCase()}`;
    const answer = await gateway.call('GET', path, { token });
    expect(answer.json).toMatchObject({ id: deviceId, locationId });
  });
});
