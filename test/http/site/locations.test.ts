import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { startGateway, useGateway } from '../harness.js';

const redis = useRedis();
const running = useGateway(redis);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe('locations', () => {
  it('are created, listed in order of creation, renamed and deleted', async () => {
    const gateway = await startGateway(redis);
    expect((await gateway.admin('GET', '/care-homes')).json).toEqual([]);
    const created = await gateway.admin('POST', '/care-homes', { json: { name: ' Birke ' } });
    expect(created.status).toBe(201);
    expect(created.json).toEqual({ id: expect.stringMatching(UUID), name: 'Birke', devices: [] });
    const second = await gateway.createLocation('Ahorn');
    const third = await gateway.createLocation('Zeder');

    const renamed = await gateway.admin('PATCH', `/care-homes/${second}`, {
      json: { name: 'Linde' },
    });
    expect(renamed.status).toBe(200);
    expect(renamed.json).toEqual({ id: second, name: 'Linde', devices: [] });

    const deleted = await gateway.admin('DELETE', `/care-homes/${third}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    expect((await gateway.admin('GET', '/care-homes')).json).toEqual([
      expect.objectContaining({ name: 'Birke' }),
      { id: second, name: 'Linde', devices: [] },
    ]);
  });

  it('show their devices in order of creation', async () => {
    const gateway = await startGateway(redis);
    const [one, other] = [await gateway.createLocation(), await gateway.createLocation()];
    const devices = [
      await gateway.createDevice(one),
      await gateway.createDevice(one),
      await gateway.createDevice(one),
    ];
    const expected = { id: one, name: 'Haus Birke', devices };
    expect((await gateway.admin('GET', '/care-homes')).json).toEqual([
      expected,
      { id: other, name: 'Haus Birke', devices: [] },
    ]);
    const json = { name: 'Haus Birke' };
    expect((await gateway.admin('PATCH', `/care-homes/${one}`, { json })).json).toEqual(expected);
  });

  it('are not deleted while they have devices', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    const path = `/care-homes/${locationId}`;
    expect(failure(await gateway.admin('DELETE', path))).toBe('409 location-has-devices');
    expect((await gateway.admin('DELETE', `${path}/devices/${deviceId}`)).status).toBe(204);
    expect((await gateway.admin('DELETE', path)).status).toBe(204);
    expect(failure(await gateway.admin('DELETE', path))).toBe('404 location-not-found');
  });

  it('are neither renamed nor deleted when they do not exist', async () => {
    const gateway = running();
    const path = `/care-homes/${randomUUID()}`;
    const renamed = await gateway.admin('PATCH', path, { json: { name: 'x' } });
    expect(failure(renamed)).toBe('404 location-not-found');
    expect(failure(await gateway.admin('DELETE', path))).toBe('404 location-not-found');
  });

  it('are listed only if the grants cover them', async () => {
    const gateway = running();
    const [seen, partly, hidden] = [
      await gateway.createLocation('seen'),
      await gateway.createLocation('partly'),
      await gateway.createLocation('hidden'),
    ];
    const inSeen = await gateway.createDevice(seen);
    const inGroup = await gateway.createDevice(partly);
    await gateway.createDevice(partly, 'outside the group');
    await gateway.createDevice(hidden);
    const { groupId: group } = await gateway.placeInGroup(partly, inGroup);
    const token = await gateway.createToken([
      { location: seen, role: 'viewer' },
      { location: partly, group, role: 'viewer' },
    ]);
    expect((await gateway.call('GET', '/care-homes', { token })).json).toEqual([
      { id: seen, name: 'seen', devices: [inSeen] },
      { id: partly, name: 'partly', devices: [inGroup] },
    ]);
  });
});

describe('when the store cannot be reached', () => {
  it('answers 503 with Retry-After to changes, and reads from memory', async () => {
    const gateway = await startGateway(redis, { losesStore: true });
    const locationId = await gateway.createLocation();
    gateway.loseStore();
    const json = { name: 'x' };
    const answers = [
      await gateway.admin('POST', '/care-homes', { json }),
      await gateway.admin('PATCH', `/care-homes/${locationId}`, { json }),
      await gateway.admin('DELETE', `/care-homes/${locationId}`),
      await gateway.admin('GET', `/care-homes/${locationId}/alarms`),
      await gateway.admin('GET', `/care-homes/${locationId}/rejected`),
      await gateway.admin('GET', '/audit'),
    ];
    for (const answer of answers) {
      expect(failure(answer)).toBe('503 store-unavailable');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect((await gateway.admin('GET', '/care-homes')).json).toEqual([
      { id: locationId, name: 'Haus Birke', devices: [] },
    ]);
  });
});
