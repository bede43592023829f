import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { Grant } from '../../../src/domain/grants.js';
import { EventReader } from '../../former/clients/event-reader.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf } from '../client.js';
import { type TestGateway, useGateway } from '../harness.js';

const running = useGateway(useRedis());

/** A location with a device and two groups with a room each. */
async function start() {
  const gateway = running();
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const [one, other] = [
    await gateway.createGroup(locationId),
    await gateway.createGroup(locationId),
  ];
  const [inOne, inOther] = [
    await gateway.createRoom(locationId, one),
    await gateway.createRoom(locationId, other),
  ];
  return { gateway, locationId, deviceId, one, other, inOne, inOther };
}

const FALL = { kind: 'fall' };
const STATUSES = ['care-homes/+/devices/+/status'];
const alarmPage = z.object({
  events: z.array(z.object({ id: z.string(), group: z.object({ id: z.string() }).nullable() })),
});
const placeBody = z.looseObject({ locationId: z.string(), roomId: z.string().nullable() });

/** The device's place; interface and store must agree on it. */
async function placeOf(gateway: TestGateway, deviceId: string) {
  const path = `/care-homes/${await gateway.locationOf(deviceId)}/devices/${deviceId}`;
  const { locationId, roomId } = placeBody.parse((await gateway.admin('GET', path)).json);
  const { devices } = await gateway.stored();
  expect(devices.find(({ id }) => id === deviceId)).toMatchObject({ locationId, roomId });
  return { locationId, roomId };
}

describe('a device', () => {
  it('moves into a room, into another, and out of it', async () => {
    const { gateway, locationId, deviceId, inOne, inOther } = await start();
    for (const roomId of [inOne, inOne, inOther, null, null, inOne]) {
      const moved = await gateway.moveDevice(locationId, deviceId, { targetRoomId: roomId });
      expect([moved.status, moved.text]).toEqual([204, '']);
      expect(await placeOf(gateway, deviceId)).toEqual({ locationId, roomId });
      const rooms = await gateway.admin('GET', `/care-homes/${locationId}/rooms`);
      expect(rooms.json).toMatchObject(
        [inOne, inOther].map((id) => ({ id, devices: id === roomId ? [deviceId] : [] })),
      );
    }
    const left = await gateway.admin('DELETE', `/care-homes/${locationId}/rooms/${inOther}`);
    expect(left.status).toBe(204);
  });

  it('moves to another location, leaves its room, and is only there', async () => {
    const { gateway, locationId, deviceId, inOne } = await start();
    const target = await gateway.createLocation('Haus Ahorn');
    await gateway.moveDevice(locationId, deviceId, { targetRoomId: inOne });
    const client = await gateway.connectDevice(deviceId);
    const { token } = await gateway.issueToken([{ location: '*', role: 'viewer' }]);
    const statuses = await EventReader.open(gateway.running, { token }, { filters: STATUSES });
    onTestFinished(() => statuses.close());
    const topics = () => statuses.messages(deviceId).map(({ topic }) => topic);
    await expect.poll(topics).toEqual([expect.stringContaining(locationId)]);
    const json = { targetLocationId: target.toUpperCase() };
    expect((await gateway.moveDevice(locationId, deviceId, json)).status).toBe(204);
    // Its status disappears from one location and appears in the other.
    await statuses.until(() => topics().some((topic) => topic.includes(target)));
    await client.endAsync();
    expect(await placeOf(gateway, deviceId)).toEqual({ locationId: target, roomId: null });
    for (const [id, devices] of [
      [locationId, []],
      [target, [deviceId]],
    ]) {
      expect((await gateway.admin('GET', `/care-homes/${id}`)).json).toMatchObject({ id, devices });
    }
    const again = await gateway.moveDevice(locationId, deviceId, json);
    expect(failure(again)).toBe('404 device-not-found');
    const remove = (id: string) => gateway.admin('DELETE', `/care-homes/${id}`);
    expect((await remove(locationId)).status).toBe(204);
    expect(failure(await remove(target))).toBe('409 location-has-devices');
  });

  it('stays in its room when moved to its own location', async () => {
    const { gateway, locationId, deviceId, inOne } = await start();
    await gateway.moveDevice(locationId, deviceId, { targetRoomId: inOne });
    const moved = await gateway.moveDevice(locationId, deviceId, { targetLocationId: locationId });
    expect(moved.status).toBe(204);
    expect(await placeOf(gateway, deviceId)).toEqual({ locationId, roomId: inOne });
  });

  it('does not move to a missing target', async () => {
    const { gateway, locationId, deviceId, inOne } = await start();
    await gateway.moveDevice(locationId, deviceId, { targetRoomId: inOne });
    const elsewhere = await gateway.createRoom(await gateway.createLocation());
    const cases: [object, string][] = [
      [{ targetLocationId: randomUUID() }, '404 location-not-found'],
      [{ targetRoomId: randomUUID() }, '404 room-not-found'],
      [{ targetRoomId: elsewhere }, '404 room-not-found'],
      [{ targetRoomId: 'nowhere' }, '400 invalid-request'],
      [{ targetLocationId: null }, '400 invalid-request'],
      [{ targetRoomId: inOne, targetLocationId: locationId }, '400 invalid-request'],
      [{ targetRoomId: null, targetLocationId: locationId }, '400 invalid-request'],
      [{ targetGroupId: randomUUID() }, '400 invalid-request'],
      [{}, '400 invalid-request'],
    ];
    for (const [target, expected] of cases) {
      const answer = await gateway.moveDevice(locationId, deviceId, target);
      expect([target, failure(answer)]).toEqual([target, expected]);
      expect(await placeOf(gateway, deviceId)).toEqual({ locationId, roomId: inOne });
    }
    const neither = problemOf(await gateway.moveDevice(locationId, deviceId, {}));
    expect(neither.errors?.map(({ message }) => message)).toEqual([
      'must have exactly one of targetLocationId and targetRoomId',
    ]);
  });

  it('moves to a location only for a manager of both', async () => {
    const { gateway, locationId, deviceId, one, inOne } = await start();
    await gateway.moveDevice(locationId, deviceId, { targetRoomId: inOne });
    const target = await gateway.createLocation();
    const manager = (location: string): Grant => ({ location, role: 'manager' });
    const viewer = (location: string): Grant => ({ location, role: 'viewer' });
    const path = `/care-homes/${locationId}/devices/${deviceId}/move`;
    const refused: Grant[][] = [
      [manager(locationId)],
      [manager(target)],
      [manager(locationId), viewer(target)],
      [viewer(locationId), manager(target)],
      [{ location: locationId, group: one, role: 'manager' }, manager(target)],
      [manager(locationId), { location: target, group: randomUUID(), role: 'manager' }],
    ];
    for (const grants of refused) {
      const token = await gateway.createToken(grants);
      for (const targetLocationId of [target, randomUUID()]) {
        const json = { targetLocationId };
        expect(failure(await gateway.call('POST', path, { token, json }))).toBe('403 forbidden');
      }
    }
    const token = await gateway.createToken([manager(locationId), manager(target)]);
    const json = { targetLocationId: target };
    expect((await gateway.call('POST', path, { token, json })).status).toBe(204);
  });

  it('that is missing is 404 to a caller who may move it there, and 403 to others', async () => {
    const { gateway, locationId, deviceId, one, inOther } = await start();
    const [target, missing] = [await gateway.createLocation(), randomUUID()];
    const manager = (location: string): Grant => ({ location, role: 'manager' });
    const ofGroup: Grant = { location: locationId, group: one, role: 'manager' };
    const both = [manager(locationId), manager(target)];
    const toTarget = { targetLocationId: target };
    const cases: [Grant[], location: string, device: string, object, string][] = [
      [[manager(locationId)], locationId, missing, toTarget, '403 forbidden'],
      [[manager(locationId)], locationId, missing, { targetLocationId: missing }, '403 forbidden'],
      [[manager(missing)], missing, deviceId, toTarget, '403 forbidden'],
      [[ofGroup], locationId, missing, { targetRoomId: inOther }, '403 forbidden'],
      [both, locationId, missing, toTarget, '404 device-not-found'],
      [both, locationId, missing, { targetLocationId: locationId }, '404 device-not-found'],
      [both, locationId, missing, { targetRoomId: missing }, '404 device-not-found'],
      [both, locationId, missing, { targetRoomId: null }, '404 device-not-found'],
      [both, target, deviceId, { targetLocationId: locationId }, '404 device-not-found'],
      [[manager('*')], missing, deviceId, toTarget, '404 location-not-found'],
      [[manager('*')], missing, deviceId, { targetRoomId: inOther }, '404 location-not-found'],
    ];
    for (const [index, [grants, location, device, json, expected]] of cases.entries()) {
      const token = await gateway.createToken(grants);
      const path = `/care-homes/${location}/devices/${device}/move`;
      const answer = await gateway.call('POST', path, { token, json });
      expect([index, failure(answer)]).toEqual([index, expected]);
    }
  });

  it('moves to a room only for a manager of the room it leaves and the one it enters', async () => {
    const { gateway, locationId, deviceId, one, other, inOne, inOther } = await start();
    const ungrouped = await gateway.createRoom(locationId);
    const group = (id: string): Grant => ({ location: locationId, group: id, role: 'manager' });
    const path = `/care-homes/${locationId}/devices/${deviceId}/move`;
    const place = (roomId: string | null) =>
      gateway.moveDevice(locationId, deviceId, { targetRoomId: roomId });
    const ofOne = await gateway.createToken([group(one)]);
    const ofOther = await gateway.createToken([group(other)]);
    const ofBoth = await gateway.createToken([group(one), group(other)]);
    const another = await gateway.createRoom(locationId, one);
    const cases: [string | null, string, string | null, 204 | 403][] = [
      [inOne, ofOne, inOther, 403],
      [inOne, ofOther, inOther, 403],
      [inOne, ofBoth, ungrouped, 403],
      [inOne, ofOne, randomUUID(), 403],
      [null, ofBoth, inOne, 403],
      [ungrouped, ofBoth, inOne, 403],
      [inOne, ofBoth, inOther, 204],
      [inOne, ofOne, another, 204],
      [inOne, ofOne, inOne, 204],
      [inOne, ofOne, null, 204],
    ];
    for (const [index, [from, token, targetRoomId, expected]] of cases.entries()) {
      await place(from);
      const answer = await gateway.call('POST', path, { token, json: { targetRoomId } });
      expect([index, answer.status]).toEqual([index, expected]);
      const roomId = expected === 204 ? targetRoomId : from;
      expect(await placeOf(gateway, deviceId)).toEqual({ locationId, roomId });
    }
  });
});

describe('a room', () => {
  it('moves to another group, with its devices', async () => {
    const { gateway, locationId, deviceId, one, other, inOne, inOther } = await start();
    await gateway.moveDevice(locationId, deviceId, { targetRoomId: inOne });
    /** The group of the place where the alarm happened. */
    const groupOf = async (alarmId: string) => {
      const { json } = await gateway.admin('GET', `/care-homes/${locationId}/alarms`);
      return alarmPage.parse(json).events.find(({ id }) => id === alarmId)?.group?.id;
    };
    const move = (from: string, targetGroupId: string) =>
      gateway.admin('POST', `/care-homes/${locationId}/groups/${from}/rooms/${inOne}/move`, {
        json: { targetGroupId },
      });
    expect(await groupOf(await gateway.recordAlarm(deviceId, FALL))).toBe(one);
    const moved = await move(one, other);
    expect([moved.status, moved.text]).toEqual([204, '']);
    expect(await groupOf(await gateway.recordAlarm(deviceId, FALL))).toBe(other);
    expect(failure(await move(one, other))).toBe('404 room-not-found');
    expect((await move(other, other)).status).toBe(204);
    expect((await gateway.admin('GET', `/care-homes/${locationId}/groups`)).json).toMatchObject([
      { id: one, rooms: [] },
      { id: other, rooms: [inOne, inOther] },
    ]);
    const { rooms } = await gateway.stored();
    expect(rooms.find(({ id }) => id === inOne)).toMatchObject({ locationId, groupId: other });
    const listed = await gateway.admin('GET', `/care-homes/${locationId}/rooms/${inOne}`);
    expect(listed.json).toMatchObject({ id: inOne, groupId: other, devices: [deviceId] });
    expect(failure(await move(other, randomUUID()))).toBe('404 group-not-found');
    const foreign = await gateway.createGroup(await gateway.createLocation());
    expect(failure(await move(other, foreign))).toBe('404 group-not-found');
    expect(failure(await move(foreign, other))).toBe('404 group-not-found');
    expect(failure(await move(other, 'x'))).toBe('400 invalid-request');
    const group = `/care-homes/${locationId}/groups/${one}`;
    expect((await gateway.admin('DELETE', group)).status).toBe(204);
  });

  it('moves only for a manager of both groups', async () => {
    const { gateway, locationId, one, other, inOne } = await start();
    const grant = (group: string, role: Grant['role']) => ({ location: locationId, group, role });
    const path = `/care-homes/${locationId}/groups/${one}/rooms/${inOne}/move`;
    const move = async (grants: readonly Grant[], targetGroupId: string) => {
      const token = await gateway.createToken(grants);
      return gateway.call('POST', path, { token, json: { targetGroupId } });
    };
    const refused: Grant[][] = [
      [grant(one, 'manager')],
      [grant(other, 'manager')],
      [grant(one, 'manager'), grant(other, 'viewer')],
      [{ location: locationId, role: 'viewer' }],
    ];
    for (const grants of refused) {
      for (const target of [other, randomUUID()]) {
        expect(failure(await move(grants, target))).toBe('403 forbidden');
      }
    }
    const both = [grant(one, 'manager'), grant(other, 'manager')];
    expect((await move(both, other)).status).toBe(204);
  });

  it('that is missing is 404 to a caller who may move it there, and 403 to others', async () => {
    const { gateway, locationId, one, other, inOne, inOther } = await start();
    const missing = randomUUID();
    const group = (id: string): Grant => ({ location: locationId, group: id, role: 'manager' });
    const all: Grant = { location: '*', role: 'manager' };
    const both = [group(one), group(other)];
    const cases: [Grant[], location: string, group: string, room: string, string][] = [
      [[group(one)], locationId, one, missing, '403 forbidden'],
      [[group(one)], locationId, one, inOther, '403 forbidden'],
      [[group(missing)], locationId, missing, inOne, '403 forbidden'],
      [[{ ...group(one), location: missing }], missing, one, inOne, '403 forbidden'],
      [both, locationId, one, missing, '404 room-not-found'],
      [both, locationId, one, inOther, '404 room-not-found'],
      [[all], locationId, missing, inOne, '404 group-not-found'],
      [[all], missing, one, inOne, '404 location-not-found'],
    ];
    for (const [index, [grants, location, from, room, expected]] of cases.entries()) {
      const token = await gateway.createToken(grants);
      const path = `/care-homes/${location}/groups/${from}/rooms/${room}/move`;
      const answer = await gateway.call('POST', path, { token, json: { targetGroupId: other } });
      expect([index, failure(answer)]).toEqual([index, expected]);
    }
  });
});
