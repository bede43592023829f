import { expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { startGateway } from '../harness.js';

const redis = useRedis();

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

it('lists the invalid publishes of a location, newest first', async () => {
  const gateway = await startGateway(redis);
  const locationId = await gateway.createLocation();
  const one = await gateway.createDevice(locationId);
  const other = await gateway.createDevice(locationId);
  const { groupId: group, roomId: room } = await gateway.placeInGroup(locationId, other);
  const path = `/care-homes/${locationId}/rejected`;
  expect((await gateway.admin('GET', path)).json).toEqual([]);
  // They are stored in the background.
  const count = async () => z.array(z.unknown()).parse((await gateway.admin('GET', path)).json);
  for (const [index, deviceId] of [one, other].entries()) {
    await gateway.publish(deviceId, 'alarms', [Buffer.from([0xff, 0x00])]);
    await expect.poll(count).toHaveLength(index + 1);
  }
  const shown = (deviceId: string) => ({
    deviceId,
    reason: 'not-json',
    topic: `devices/${deviceId}/alarms`,
    base64: '/wA=',
    receivedAt: expect.stringMatching(TIME),
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
