import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { startGateway, useGateway } from '../harness.js';

const redis = useRedis();
const running = useGateway(redis);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('groups', () => {
  it('are created, listed in order of creation, renamed and deleted', async () => {
    const gateway = running();
    const path = `/care-homes/${await gateway.createLocation()}/groups`;
    expect((await gateway.admin('GET', path)).json).toEqual([]);
    const created = await gateway.admin('POST', path, { json: { name: ' Station 2 ' } });
    expect(created.status).toBe(201);
    const first = { id: expect.stringMatching(UUID), name: 'Station 2', rooms: [] };
    expect(created.json).toEqual(first);
    const locationId = path.split('/')[2] ?? '';
    const second = await gateway.createGroup(locationId, 'Station 1');
    const third = await gateway.createGroup(locationId, 'Station 0');

    const renamed = await gateway.admin('PATCH', `${path}/${second}`, { json: { name: 'Süd' } });
    expect(renamed.status).toBe(200);
    expect(renamed.json).toEqual({ id: second, name: 'Süd', rooms: [] });

    const deleted = await gateway.admin('DELETE', `${path}/${third}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect(failure(await gateway.admin('DELETE', `${path}/${third}`))).toBe('404 group-not-found');
    expect((await gateway.admin('GET', path)).json).toEqual([
      first,
      { id: second, name: 'Süd', rooms: [] },
    ]);
  });

  it('show their rooms in order of creation, even after a rename', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const path = `/care-homes/${locationId}/groups`;
    const [one, other] = [
      await gateway.createGroup(locationId, 'one'),
      await gateway.createGroup(locationId, 'other'),
    ];
    await gateway.createRoom(locationId);
    const inOther = await gateway.createRoom(locationId, other);
    const rooms = [
      await gateway.createRoom(locationId, one),
      await gateway.createRoom(locationId, one),
    ];
    expect((await gateway.admin('GET', path)).json).toEqual([
      { id: one, name: 'one', rooms },
      { id: other, name: 'other', rooms: [inOther] },
    ]);
    const renamed = await gateway.admin('PATCH', `${path}/${one}`, { json: { name: 'Süd' } });
    expect(renamed.json).toEqual({ id: one, name: 'Süd', rooms });
  });

  it('are not deleted while they have rooms', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const groupId = await gateway.createGroup(locationId);
    const path = `/care-homes/${locationId}/groups/${groupId}`;
    const remove = () => gateway.admin('DELETE', path);
    const [moved, deleted] = [
      await gateway.createRoom(locationId, groupId),
      await gateway.createRoom(locationId, groupId),
    ];
    expect(failure(await remove())).toBe('409 group-has-rooms');
    const room = (id: string) => `/care-homes/${locationId}/rooms/${id}`;
    await gateway.admin('PATCH', room(moved), { json: { groupId: null } });
    expect(failure(await remove())).toBe('409 group-has-rooms');
    await gateway.admin('DELETE', room(deleted));
    expect((await remove()).status).toBe(204);
  });

  it('are shown and renamed only if the grants cover them', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const [own, other] = [
      await gateway.createGroup(locationId, 'own'),
      await gateway.createGroup(locationId, 'other'),
    ];
    const room = await gateway.createRoom(locationId, own);
    await gateway.createRoom(locationId, other);
    const token = await gateway.createToken([
      { location: locationId, group: own, role: 'manager' },
      { location: locationId, group: other, role: 'viewer' },
    ]);
    const path = `/care-homes/${locationId}/groups`;
    const onlyOwn = await gateway.createToken([
      { location: locationId, group: own, role: 'viewer' },
    ]);
    expect((await gateway.call('GET', path, { token: onlyOwn })).json).toEqual([
      { id: own, name: 'own', rooms: [room] },
    ]);
    const json = { name: 'x' };
    const rename = (id: string) => gateway.call('PATCH', `${path}/${id}`, { token, json });
    expect((await rename(own)).status).toBe(200);
    for (const id of [other, randomUUID()]) {
      expect(failure(await rename(id))).toBe('403 forbidden');
    }
    expect(failure(await gateway.call('POST', path, { token, json }))).toBe('403 forbidden');
  });
});

describe('a location', () => {
  it('is deleted with its rooms and groups, in the store as well', async () => {
    const gateway = await startGateway(redis);
    const [locationId, kept] = [await gateway.createLocation(), await gateway.createLocation()];
    const groupId = await gateway.createGroup(locationId);
    await gateway.createRoom(locationId, groupId);
    await gateway.createRoom(locationId);
    const keptGroup = await gateway.createGroup(kept);
    const keptRoom = await gateway.createRoom(kept, keptGroup);
    expect((await gateway.admin('DELETE', `/care-homes/${locationId}`)).status).toBe(204);
    const stored = await gateway.stored();
    expect(stored.locations.map(({ id }) => id)).toEqual([kept]);
    expect(stored.groups.map(({ id }) => id)).toEqual([keptGroup]);
    expect(stored.rooms.map(({ id }) => id)).toEqual([keptRoom]);
    const keys = await gateway.keys();
    const keysOf = (id: string) => keys.filter((key) => key.includes(id));
    expect([locationId, groupId].flatMap(keysOf)).toEqual([]);
  });
});
