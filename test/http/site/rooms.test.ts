import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf } from '../client.js';
import { useGateway } from '../harness.js';

const running = useGateway(useRedis());
const idBody = z.looseObject({ id: z.string() });
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function start() {
  const gateway = running();
  const locationId = await gateway.createLocation();
  return { gateway, locationId, path: `/care-homes/${locationId}/rooms` };
}

describe('rooms', () => {
  it('are created, listed in order of creation, renamed and deleted', async () => {
    const { gateway, locationId, path } = await start();
    expect((await gateway.admin('GET', path)).json).toEqual([]);
    const created = await gateway.admin('POST', path, { json: { name: ' Zimmer 9 ' } });
    expect(created.status).toBe(201);
    const id = expect.stringMatching(UUID);
    const first = { id, name: 'Zimmer 9', groupId: null, devices: [] };
    expect(created.json).toEqual(first);
    const [second, third] = [
      await gateway.createRoom(locationId),
      await gateway.createRoom(locationId),
    ];
    const renamed = await gateway.admin('PATCH', `${path}/${second}`, { json: { name: 'Bad' } });
    expect(renamed.status).toBe(200);
    expect(renamed.json).toEqual({ id: second, name: 'Bad', groupId: null, devices: [] });

    const deleted = await gateway.admin('DELETE', `${path}/${third}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect(failure(await gateway.admin('DELETE', `${path}/${third}`))).toBe('404 room-not-found');
    expect((await gateway.admin('GET', path)).json).toEqual([first, renamed.json]);
  });

  it('show their devices in order of creation', async () => {
    const { gateway, locationId, path } = await start();
    const roomId = await gateway.createRoom(locationId);
    const devices = [
      await gateway.createDevice(locationId),
      await gateway.createDevice(locationId),
    ];
    await gateway.createDevice(locationId);
    for (const id of devices.toReversed()) {
      await gateway.moveDevice(locationId, id, { targetRoomId: roomId });
    }
    const expected = { id: roomId, name: 'Zimmer 1', groupId: null, devices };
    expect((await gateway.admin('GET', path)).json).toEqual([expected]);
    const json = { name: 'Zimmer 1' };
    expect((await gateway.admin('PATCH', `${path}/${roomId}`, { json })).json).toEqual(expected);
  });

  it('are created in a group, moved to another, and taken out of it', async () => {
    const { gateway, locationId, path } = await start();
    const [one, other] = [
      await gateway.createGroup(locationId),
      await gateway.createGroup(locationId),
    ];
    const json = { name: 'Zimmer 1', groupId: one.toUpperCase() };
    const created = await gateway.admin('POST', path, { json });
    expect([created.status, created.json]).toMatchObject([201, { groupId: one }]);
    const { id: roomId } = idBody.parse(created.json);
    const change = async (body: object) =>
      (await gateway.admin('PATCH', `${path}/${roomId}`, { json: body })).json;
    expect(await change({ groupId: other })).toMatchObject({ name: 'Zimmer 1', groupId: other });
    expect(await change({ name: 'Bad' })).toMatchObject({ name: 'Bad', groupId: other });
    expect(await change({ name: 'WC', groupId: one })).toMatchObject({ name: 'WC', groupId: one });
    expect(await change({ groupId: one })).toMatchObject({ name: 'WC', groupId: one });
    expect(await change({ groupId: null })).toMatchObject({ name: 'WC', groupId: null });
    expect(await change({ groupId: null })).toMatchObject({ name: 'WC', groupId: null });
    expect((await gateway.admin('GET', path)).json).toEqual([
      { id: roomId, name: 'WC', groupId: null, devices: [] },
    ]);
    const { rooms } = await gateway.stored();
    const stored = rooms.filter((room) => room.locationId === locationId);
    expect(stored).toMatchObject([{ id: roomId, name: 'WC', groupId: null }]);
    for (const groupId of [one, other]) {
      const group = `/care-homes/${locationId}/groups/${groupId}`;
      expect((await gateway.admin('DELETE', group)).status).toBe(204);
    }
  });

  it('cannot be created in or moved to a group of another location', async () => {
    const { gateway, locationId, path } = await start();
    const foreign = await gateway.createGroup(await gateway.createLocation());
    const roomId = await gateway.createRoom(locationId);
    for (const groupId of [foreign, randomUUID()]) {
      const json = { name: 'Zimmer 2', groupId };
      const created = await gateway.admin('POST', path, { json });
      expect(failure(created)).toBe('404 group-not-found');
      const changed = await gateway.admin('PATCH', `${path}/${roomId}`, { json });
      expect(failure(changed)).toBe('404 group-not-found');
    }
    expect((await gateway.admin('GET', path)).json).toEqual([
      { id: roomId, name: 'Zimmer 1', groupId: null, devices: [] },
    ]);
  });

  it('are unchanged by an empty change', async () => {
    const { gateway, locationId, path } = await start();
    const room = `${path}/${await gateway.createRoom(locationId)}`;
    for (const json of [{}, { groupId: 'x' }, { name: null }, { name: 'x', groupId: 7 }]) {
      expect(failure(await gateway.admin('PATCH', room, { json }))).toBe('400 invalid-request');
    }
    const nothing = problemOf(await gateway.admin('PATCH', room, { json: {} }));
    expect(nothing.errors?.map(({ message }) => message)).toEqual([
      'must have at least one of name and groupId',
    ]);
  });

  it('are not deleted while they have devices', async () => {
    const { gateway, locationId, path } = await start();
    const roomId = await gateway.createRoom(locationId);
    const [moved, deleted] = [
      await gateway.createDevice(locationId),
      await gateway.createDevice(locationId),
    ];
    for (const id of [moved, deleted]) {
      await gateway.moveDevice(locationId, id, { targetRoomId: roomId });
    }
    const remove = () => gateway.admin('DELETE', `${path}/${roomId}`);
    expect(failure(await remove())).toBe('409 room-has-devices');
    await gateway.moveDevice(locationId, moved, { targetRoomId: null });
    expect(failure(await remove())).toBe('409 room-has-devices');
    await gateway.admin('DELETE', `/care-homes/${locationId}/devices/${deleted}`);
    expect((await remove()).status).toBe(204);
  });
});

describe('a grant on a group', () => {
  it("covers the group's rooms, new ones included, and no others", async () => {
    const { gateway, locationId, path } = await start();
    const [own, other] = [
      await gateway.createGroup(locationId),
      await gateway.createGroup(locationId),
    ];
    const inOwn = await gateway.createRoom(locationId, own);
    await gateway.createRoom(locationId, other);
    await gateway.createRoom(locationId);
    const token = await gateway.createToken([
      { location: locationId, group: own, role: 'manager' },
    ]);
    const asked = async (method: string, at: string, json?: object) => {
      const answer = await gateway.call(method, at, { token, json });
      return answer.status < 400 ? answer.json : failure(answer);
    };
    expect(await asked('GET', path)).toEqual([expect.objectContaining({ id: inOwn })]);

    for (const groupId of [other, null, undefined, randomUUID()]) {
      expect(await asked('POST', path, { name: 'new', groupId })).toBe('403 forbidden');
    }
    expect(await asked('POST', path, { name: 'new', groupId: own })).toMatchObject({
      groupId: own,
    });

    const room = `${path}/${inOwn}`;
    expect(await asked('PATCH', room, { name: 'Bad' })).toMatchObject({ name: 'Bad' });
    for (const groupId of [other, randomUUID()]) {
      expect(await asked('PATCH', room, { groupId })).toBe('403 forbidden');
    }
    expect(await asked('PATCH', room, { groupId: null })).toMatchObject({ groupId: null });
    expect(await asked('PATCH', room, { groupId: own })).toBe('403 forbidden');
  });
});
