import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { type CallOptions, failure } from '../client.js';
import { type TestGateway, useGateway } from '../harness.js';
import { fill, protectedRoutesOf, type Route } from '../routes.js';

const running = useGateway(useRedis());

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
