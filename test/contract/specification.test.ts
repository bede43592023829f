import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Api } from '../former/clients/api.js';
import { GatewayHere } from '../former/gateway/gateway-here.js';
import { answerOf, homeOf, UUID } from './specified-home.js';

/** The customer's interface specification, row by row; docs/reports/specification.md maps tests to rows. */

const LONGEST_NAME = '👵'.repeat(120);
const TOO_LONG_NAMES = ['x'.repeat(121), '👵'.repeat(121)];
const UNUSABLE_NAMES = ['', '   ', ...TOO_LONG_NAMES, 7, null];

let gateway: GatewayHere;
let api: Api;

beforeAll(async () => {
  gateway = await GatewayHere.start();
  api = new Api(gateway);
});

afterAll(() => gateway.remove());

const ask = (method: string, path: string, body?: unknown, as = api) =>
  answerOf(as, method, path, body);
const home = () => homeOf(api);

const idBody = z.looseObject({ id: z.string() });

async function create(path: string, body: object): Promise<string> {
  return idBody.parse(await api.json('POST', path, body)).id;
}

/** Asserts that a name is held to its limits (docs/reference/contract.md, 2). */
async function holdNames(method: string, path: string, status: number, rest: object = {}) {
  for (const name of UNUSABLE_NAMES) {
    const [refused, problem] = await ask(method, path, { ...rest, name });
    expect([name, refused, problem.code]).toEqual([name, 400, 'invalid-request']);
  }
  expect(await ask(method, path, { ...rest, name: `\t ${LONGEST_NAME} \n` })).toEqual([
    status,
    expect.objectContaining({ name: LONGEST_NAME }),
  ]);
}

describe('locations', () => {
  it('GET /care-homes: 200, array of Location', async () => {
    const { id, device } = await home();
    const [status, locations] = await ask('GET', '/care-homes');
    expect(status).toBe(200);
    expect(locations).toContainEqual({ id, name: 'Haus Birke', devices: [device.id] });
  });

  it('POST /care-homes: name required, 1 to 120 characters, trimmed; 201, devices empty', async () => {
    expect(await ask('POST', '/care-homes', { name: ' Haus Ahorn ' })).toEqual([
      201,
      { id: UUID, name: 'Haus Ahorn', devices: [] },
    ]);
    expect((await ask('POST', '/care-homes', {}))[0]).toBe(400);
    await holdNames('POST', '/care-homes', 201);
  });

  it('PATCH /care-homes/<locationId>: the new name; 200, Location', async () => {
    const { id, path, device } = await home();
    expect(await ask('PATCH', path, { name: 'Haus Linde' })).toEqual([
      200,
      { id, name: 'Haus Linde', devices: [device.id] },
    ]);
    await holdNames('PATCH', path, 200);
  });

  it('DELETE /care-homes/<locationId>: 204; 409 when devices are still assigned', async () => {
    const { path, devicePath } = await home();
    expect((await ask('DELETE', path))[0]).toBe(409);
    await api.json('DELETE', devicePath);
    expect(await ask('DELETE', path)).toEqual([204, undefined]);
    expect((await ask('GET', `${path}/devices`))[0]).toBe(404);
  });
});

describe('devices', () => {
  it('GET a device: 200, Device', async () => {
    const { device, devicePath } = await home();
    expect(await ask('GET', devicePath)).toEqual([
      200,
      expect.objectContaining({ id: device.id, name: 'Bett 1' }),
    ]);
    expect(device.id).toEqual(UUID);
  });

  it('PATCH a device: the new name; 200, Device', async () => {
    const { device, devicePath } = await home();
    expect(await ask('PATCH', devicePath, { name: ' Bett 2 ' })).toEqual([
      200,
      expect.objectContaining({ id: device.id, name: 'Bett 2' }),
    ]);
    await holdNames('PATCH', devicePath, 200);
  });

  it('is in one location, which changes by a move only: targetLocationId, 204', async () => {
    const [from, to] = [await home(), await home()];
    const { id } = from.device;
    expect((await ask('PATCH', from.devicePath, { name: 'x', locationId: to.id }))[0]).toBe(400);
    const move = `${from.devicePath}/move`;
    expect(await ask('POST', move, { targetLocationId: to.id })).toEqual([204, undefined]);
    const [, locations] = await ask('GET', '/care-homes');
    expect(locations).toContainEqual(expect.objectContaining({ id: from.id, devices: [] }));
    const devices = [id, to.device.id];
    expect(locations).toContainEqual(expect.objectContaining({ id: to.id, devices }));
    expect((await ask('GET', from.devicePath))[0]).toBe(404);
  });

  it('may be in a room, which changes by a move only: targetRoomId, 204', async () => {
    const { device, path, devicePath } = await home();
    const roomId = await create(`${path}/rooms`, { name: 'Zimmer 1' });
    expect((await ask('PATCH', devicePath, { name: 'x', roomId }))[0]).toBe(400);
    const move = `${devicePath}/move`;
    expect(await ask('POST', move, { targetRoomId: roomId })).toEqual([204, undefined]);
    const [, rooms] = await ask('GET', `${path}/rooms`);
    expect(rooms).toEqual([{ id: roomId, name: 'Zimmer 1', groupId: null, devices: [device.id] }]);
  });

  it('moves with one of the two fields, not with both or neither', async () => {
    const { id, path, devicePath } = await home();
    const roomId = await create(`${path}/rooms`, { name: 'Zimmer 1' });
    for (const body of [{}, { targetLocationId: id, targetRoomId: roomId }]) {
      expect((await ask('POST', `${devicePath}/move`, body))[0]).toBe(400);
    }
  });

  it('moves only with permissions for the locations involved, else 403', async () => {
    const [from, to] = [await home(), await home()];
    const roomId = await create(`${from.path}/rooms`, { name: 'Zimmer 1' });
    const managerOf = async (...ids: string[]) => {
      const grants = ids.map((location) => ({ location, role: 'manager' }));
      return new Api(gateway, (await api.createToken(grants)).token);
    };
    const move = `${from.devicePath}/move`;
    const [ofFrom, ofTo, ofBoth] = [
      await managerOf(from.id),
      await managerOf(to.id),
      await managerOf(from.id, to.id),
    ];
    const toLocation = { targetLocationId: to.id };
    expect((await ask('POST', move, { targetRoomId: roomId }, ofTo))[0]).toBe(403);
    expect((await ask('POST', move, { targetRoomId: roomId }, ofFrom))[0]).toBe(204);
    expect((await ask('POST', move, toLocation, ofFrom))[0]).toBe(403);
    expect((await ask('POST', move, toLocation, ofTo))[0]).toBe(403);
    expect((await ask('POST', move, toLocation, ofBoth))[0]).toBe(204);
  });
});

describe('rooms', () => {
  it('GET rooms: 200, array of Room', async () => {
    const { path } = await home();
    expect(await ask('GET', `${path}/rooms`)).toEqual([200, []]);
    const groupId = await create(`${path}/groups`, { name: 'Station 1' });
    const id = await create(`${path}/rooms`, { name: 'Zimmer 1', groupId });
    const room = { id, name: 'Zimmer 1', groupId, devices: [] };
    expect(await ask('GET', `${path}/rooms`)).toEqual([200, [room]]);
  });

  it('POST a room: name required, groupId optional; 201, devices empty', async () => {
    const { path } = await home();
    const groupId = await create(`${path}/groups`, { name: 'Station 1' });
    const room = { id: UUID, name: 'Zimmer 1', groupId: null, devices: [] };
    expect(await ask('POST', `${path}/rooms`, { name: 'Zimmer 1' })).toEqual([201, room]);
    expect(await ask('POST', `${path}/rooms`, { name: 'Zimmer 1', groupId })).toEqual([
      201,
      { ...room, groupId },
    ]);
    expect((await ask('POST', `${path}/rooms`, { groupId }))[0]).toBe(400);
    await holdNames('POST', `${path}/rooms`, 201);
  });

  it('PATCH a room: the new name, its group, or null for none; 200, Room', async () => {
    const { path } = await home();
    const groupId = await create(`${path}/groups`, { name: 'Station 1' });
    const id = await create(`${path}/rooms`, { name: 'Zimmer 1' });
    const room = { id, name: 'Zimmer 2', groupId: null, devices: [] };
    const one = `${path}/rooms/${id}`;
    expect(await ask('PATCH', one, { name: ' Zimmer 2' })).toEqual([200, room]);
    expect(await ask('PATCH', one, { groupId })).toEqual([200, { ...room, groupId }]);
    expect(await ask('PATCH', one, { groupId: null })).toEqual([200, room]);
    await holdNames('PATCH', one, 200, { groupId });
  });

  it('DELETE a room: 204; 409 when devices are still assigned', async () => {
    const { path, devicePath } = await home();
    const id = await create(`${path}/rooms`, { name: 'Zimmer 1' });
    await api.json('POST', `${devicePath}/move`, { targetRoomId: id });
    expect((await ask('DELETE', `${path}/rooms/${id}`))[0]).toBe(409);
    await api.json('POST', `${devicePath}/move`, { targetRoomId: null });
    expect(await ask('DELETE', `${path}/rooms/${id}`)).toEqual([204, undefined]);
    expect(await ask('GET', `${path}/rooms`)).toEqual([200, []]);
  });
});

describe('groups', () => {
  it('GET groups: 200, array of Group', async () => {
    const { path } = await home();
    const id = await create(`${path}/groups`, { name: 'Station 1' });
    const roomId = await create(`${path}/rooms`, { name: 'Zimmer 1', groupId: id });
    const group = { id, name: 'Station 1', rooms: [roomId] };
    expect(await ask('GET', `${path}/groups`)).toEqual([200, [group]]);
  });

  it('POST a group: name required; 201, rooms empty', async () => {
    const { path } = await home();
    expect(await ask('POST', `${path}/groups`, { name: 'Station 1 ' })).toEqual([
      201,
      { id: UUID, name: 'Station 1', rooms: [] },
    ]);
    expect((await ask('POST', `${path}/groups`, {}))[0]).toBe(400);
    await holdNames('POST', `${path}/groups`, 201);
  });

  it('PATCH a group: the new name; 200, Group', async () => {
    const { path } = await home();
    const id = await create(`${path}/groups`, { name: 'Station 1' });
    const group = { id, name: 'Station 2', rooms: [] };
    expect(await ask('PATCH', `${path}/groups/${id}`, { name: 'Station 2' })).toEqual([200, group]);
    await holdNames('PATCH', `${path}/groups/${id}`, 200);
  });

  it('DELETE a group: 204; 409 when rooms are still assigned', async () => {
    const { path } = await home();
    const id = await create(`${path}/groups`, { name: 'Station 1' });
    const roomId = await create(`${path}/rooms`, { name: 'Zimmer 1', groupId: id });
    expect((await ask('DELETE', `${path}/groups/${id}`))[0]).toBe(409);
    await api.json('DELETE', `${path}/rooms/${roomId}`);
    expect(await ask('DELETE', `${path}/groups/${id}`)).toEqual([204, undefined]);
  });

  it('POST a room to another group: targetGroupId; 204, 403 without permissions for both', async () => {
    const { id, path } = await home();
    const from = await create(`${path}/groups`, { name: 'Station 1' });
    const to = await create(`${path}/groups`, { name: 'Station 2' });
    const roomId = await create(`${path}/rooms`, { name: 'Zimmer 1', groupId: from });
    const move = `${path}/groups/${from}/rooms/${roomId}/move`;
    for (const group of [from, to]) {
      const { token } = await api.createToken([{ location: id, group, role: 'manager' }]);
      const answer = await ask('POST', move, { targetGroupId: to }, new Api(gateway, token));
      expect(answer[0]).toBe(403);
    }
    expect(await ask('POST', move, { targetGroupId: to })).toEqual([204, undefined]);
    expect((await ask('GET', `${path}/rooms`))[1]).toMatchObject([{ id: roomId, groupId: to }]);
  });
});
