import { expect, it } from 'vitest';
import { problemOf } from './client.js';
import { startGateway, useRedis } from './harness.js';

const redis = useRedis();

function fail(): never {
  throw new TypeError('the password of the store is hunter2');
}

it('hides the message of an unforeseen failure, and logs it under the request id', async () => {
  const gateway = await startGateway(redis, {
    footageStore: { downloadUrl: fail, uploadUrl: fail },
  });
  const locationId = await gateway.createLocation();
  const deviceId = await gateway.createDevice(locationId);
  const footage = { video: `${deviceId}/1.mp4` };
  await gateway.recordAlarm(deviceId, { kind: 'fall', footage });
  const answer = await gateway.admin('GET', `/care-homes/${locationId}/alarms`);
  const problem = problemOf(answer);
  expect(`${problem.status} ${problem.code}`).toBe('500 internal-error');
  expect(answer.text).not.toMatch(/hunter2|TypeError|\.ts/);
  const line = gateway.logged.find((one) => one.includes('hunter2'));
  expect(line).toContain(problem.requestId);
});
