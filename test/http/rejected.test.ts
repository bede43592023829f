import { expect, it } from 'vitest';
import { startGateway, useRedis } from './harness.js';

const redis = useRedis();

it('lists the newest invalid publishes of a location, newest first', async () => {
  const gateway = await startGateway(redis);
  const locationId = await gateway.createLocation();
  const one = await gateway.createDevice(locationId);
  const other = await gateway.createDevice(locationId);
  const { groupId: group, roomId: room } = await gateway.placeInGroup(locationId, other);
  const path = `/care-homes/${locationId}/rejected`;
  expect((await gateway.admin('GET', path)).json).toEqual([]);
  const receivedAtMs = Date.UTC(2026, 0, 1);
  for (const [deviceId, groupId] of [
    [one, null],
    [other, group],
  ] as const) {
    const invalidPublish = {
      reason: 'not-json' as const,
      topic: `devices/${deviceId}/alarms`,
      payload: Buffer.from([0xff, 0x00]),
      receivedAtMs,
    };
    await gateway.invalidPublishes.add(locationId, [{ deviceId, groupId, invalidPublish }]);
  }
  const shown = (deviceId: string) => ({
    deviceId,
    reason: 'not-json',
    topic: `devices/${deviceId}/alarms`,
    base64: '/wA=',
    receivedAt: '2026-01-01T00:00:00.000Z',
  });
  expect((await gateway.admin('GET', path)).json).toEqual([shown(other), shown(one)]);

  const token = await gateway.createToken([{ location: locationId, group, role: 'manager' }]);
  expect((await gateway.call('GET', path, { token })).json).toEqual([shown(other)]);

  const moved = { targetRoomId: room };
  await gateway.admin('POST', `/care-homes/${locationId}/devices/${one}/move`, { json: moved });
  expect((await gateway.call('GET', path, { token })).json).toEqual([shown(other)]);

  await gateway.admin('DELETE', `/care-homes/${locationId}/devices/${one}`);
  expect((await gateway.admin('GET', path)).json).toEqual([shown(other), shown(one)]);
});
