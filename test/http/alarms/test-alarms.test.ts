import { expect, it } from 'vitest';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { useGateway } from '../harness.js';

const running = useGateway(useRedis());
const token = ADMIN_TOKEN;
const idBody = z.object({ id: z.string() });

it('raises an alarm of the device that is in the history with "test": true', async () => {
  const gateway = running();
  const locationId = await gateway.createLocation('Haus Birke');
  const deviceId = await gateway.createDevice(locationId, 'Bett 1');
  const path = `/care-homes/${locationId}/devices/${deviceId}/test-alarm`;
  const answer = await gateway.call('POST', path, { json: { kind: 'fall' }, token });
  expect(answer.status).toBe(202);
  const { id } = idBody.parse(answer.json);
  const history = await gateway.call('GET', `/care-homes/${locationId}/alarms`, { token });
  expect(history.json).toMatchObject({
    events: [{ id, kind: 'fall', deviceId, data: { test: true }, state: 'raised' }],
  });
});

it('raises a call for help when no kind or body is given, and refuses an unknown kind', async () => {
  const gateway = running();
  const locationId = await gateway.createLocation('Haus Birke');
  const deviceId = await gateway.createDevice(locationId, 'Bett 1');
  const path = `/care-homes/${locationId}/devices/${deviceId}/test-alarm`;
  expect((await gateway.call('POST', path, { json: { kind: 'fire' }, token })).status).toBe(400);
  expect((await gateway.call('POST', path, { json: {}, token })).status).toBe(202);
  expect((await gateway.call('POST', path, { token })).status).toBe(202);
  const history = await gateway.call('GET', `/care-homes/${locationId}/alarms`, { token });
  expect(history.json).toMatchObject({ events: [{ kind: 'helpCall' }, { kind: 'helpCall' }] });
});
