import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { secretMatches } from '../../../src/domain/credentials.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf } from '../client.js';
import { type TestGateway, useGateway } from '../harness.js';

const running = useGateway(useRedis());
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const secretBody = z.looseObject({ secret: z.string().min(40) });

async function storedDevice(gateway: TestGateway, deviceId: unknown) {
  return (await gateway.stored()).devices.find(({ id }) => id === deviceId);
}

describe('devices', () => {
  it('are created with a secret that is shown once', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const path = `/care-homes/${locationId}/devices`;
    const created = await gateway.admin('POST', path, { json: { name: ' Bett 1 ' } });
    expect(created.status).toBe(201);
    const { secret, ...device } = secretBody.parse(created.json);
    expect(device).toEqual({
      id: expect.any(String),
      name: 'Bett 1',
      locationId,
      roomId: null,
      online: false,
      lastSeenAt: null,
      createdAt: expect.stringMatching(TIME),
    });
    const kept = await storedDevice(gateway, device['id']);
    expect(kept !== undefined && secretMatches(secret, kept.secretHash)).toBe(true);

    expect((await gateway.admin('GET', `${path}/${device['id']}`)).json).toEqual(device);
    expect((await gateway.admin('GET', path)).json).toEqual([device]);
    expect(gateway.logged.join('')).not.toContain(secret);
  });

  it('show their own limits, which a manager sets and removes', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId, 'Bett 1');
    const path = `/care-homes/${locationId}/devices/${deviceId}`;
    const set = (limits: object) => gateway.admin('PATCH', path, { json: { limits } });
    const shown = z.looseObject({ limits: z.unknown().optional() });
    const limitsNow = async () => shown.parse((await gateway.admin('GET', path)).json).limits;

    expect((await set({ messagesPerSecond: 50, byteBurst: 9_000 })).status).toBe(200);
    expect(await limitsNow()).toEqual({ messagesPerSecond: 50, byteBurst: 9_000 });
    // Two concurrent changes: each leaves the other's limit as it is.
    await Promise.all([set({ alarmsPerDay: 10 }), set({ byteBurst: null })]);
    expect(await limitsNow()).toEqual({ messagesPerSecond: 50, alarmsPerDay: 10 });
    const renamed = await gateway.admin('PATCH', path, {
      json: { name: 'Bett 2', limits: { messagesPerSecond: null } },
    });
    expect(renamed.json).toMatchObject({ name: 'Bett 2', limits: { alarmsPerDay: 10 } });
    const stored = await storedDevice(gateway, deviceId);
    expect(stored?.limits).toEqual({ alarmsPerDay: 10 });
    await set({ alarmsPerDay: null });
    expect(await limitsNow()).toBeUndefined();
  });

  it.each([
    [{}, ''],
    [{ limits: { messagesPerSecond: 0 } }, 'limits.messagesPerSecond'],
    [{ limits: { messagesPerSecond: 1.5 } }, 'limits.messagesPerSecond'],
    [{ limits: { messagesPerSecond: '5' } }, 'limits.messagesPerSecond'],
    [{ limits: { unknown: 5 } }, 'limits.unknown'],
    [{ limits: [] }, 'limits'],
  ])('accept no other limits: %j', async (json, path) => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    const answer = await gateway.admin('PATCH', `/care-homes/${locationId}/devices/${deviceId}`, {
      json,
    });
    expect(answer.status).toBe(400);
    expect(problemOf(answer).errors?.map((error) => error.path)).toEqual([path]);
  });

  it('may be created with an id, once', async () => {
    const gateway = running();
    const [one, other] = [await gateway.createLocation(), await gateway.createLocation()];
    const id = randomUUID();
    const json = { name: 'Bett', id: id.toUpperCase() };
    const created = await gateway.admin('POST', `/care-homes/${one}/devices`, { json });
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({ id });
    for (const location of [one, other]) {
      const again = await gateway.admin('POST', `/care-homes/${location}/devices`, { json });
      expect(failure(again)).toBe('409 device-id-in-use');
    }
    const wrong = await gateway.admin('POST', `/care-homes/${one}/devices`, {
      json: { name: 'Bett', id: '7' },
    });
    expect(problemOf(wrong).errors?.map(({ path }) => path)).toEqual(['id']);
  });

  it('are listed in order of creation, limited to those that the grants cover', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const path = `/care-homes/${locationId}/devices`;
    const ids = [
      await gateway.createDevice(locationId),
      await gateway.createDevice(locationId),
      await gateway.createDevice(locationId),
    ];
    const listed = z.array(z.looseObject({ id: z.string() }));
    const all = listed.parse((await gateway.admin('GET', path)).json);
    expect(all.map(({ id }) => id)).toEqual(ids);

    const { groupId: group } = await gateway.placeInGroup(locationId, ids[1] ?? '');
    const token = await gateway.createToken([{ location: locationId, group, role: 'viewer' }]);
    const covered = listed.parse((await gateway.call('GET', path, { token })).json);
    expect(covered.map(({ id }) => id)).toEqual([ids[1]]);
  });

  it('show whether they are connected, and when they last were', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    const path = `/care-homes/${locationId}/devices/${deviceId}`;
    const shown = async () => (await gateway.admin('GET', path)).json;
    expect(await shown()).toMatchObject({ online: false, lastSeenAt: null });
    const before = new Date().toISOString();
    const client = await gateway.connectDevice(deviceId);
    const lastSeenAt = expect.toSatisfy((at) => TIME.test(at) && at >= before);
    await expect.poll(shown).toMatchObject({ online: true, lastSeenAt });
    await client.endAsync();
    await expect.poll(shown).toMatchObject({ online: false, lastSeenAt });
  });

  it('are renamed', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const path = `/care-homes/${locationId}/devices/${await gateway.createDevice(locationId)}`;
    const renamed = await gateway.admin('PATCH', path, { json: { name: 'Bett 2' } });
    expect(renamed.status).toBe(200);
    expect(renamed.json).toMatchObject({ name: 'Bett 2', locationId });
    expect((await gateway.admin('GET', path)).json).toEqual(renamed.json);
  });

  it('get a new secret, which replaces the old one', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    const client = await gateway.connectDevice(deviceId);
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    const oldHash = (await storedDevice(gateway, deviceId))?.secretHash;
    const path = `/care-homes/${locationId}/devices/${deviceId}/secret`;
    const answer = await gateway.admin('POST', path);
    expect(answer.status).toBe(200);
    const { secret } = secretBody.strict().parse(answer.json);
    const newHash = (await storedDevice(gateway, deviceId))?.secretHash ?? '';
    expect(newHash).not.toBe(oldHash);
    expect(secretMatches(secret, newHash)).toBe(true);
    // The connection with the old secret has ended, and the new secret connects.
    await closed;
    await (await gateway.connectDevice(deviceId)).endAsync();
  });

  it('are deleted', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    const path = `/care-homes/${locationId}/devices/${deviceId}`;
    const deleted = await gateway.admin('DELETE', path);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    for (const method of ['GET', 'DELETE']) {
      expect(failure(await gateway.admin(method, path))).toBe('404 device-not-found');
    }
    const home = await gateway.admin('GET', `/care-homes/${locationId}`);
    expect(home.json).toMatchObject({ devices: [] });
  });
});
