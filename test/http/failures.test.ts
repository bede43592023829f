import { expect, it } from 'vitest';
import { useRedis } from '../harness/shared-redis.js';
import { problemOf } from './client.js';
import { startGateway } from './harness.js';

const redis = useRedis();

it('hides the message of an unforeseen failure, and logs it under the request id', async () => {
  const gateway = await startGateway(redis);
  const locationId = await gateway.createLocation();
  // Somebody else has written to the store; the message of the failure quotes it.
  await gateway.redis.lpush(gateway.storeKeys.rejected(locationId), 'hunter2');
  const answer = await gateway.admin('GET', `/care-homes/${locationId}/rejected`);
  const problem = problemOf(answer);
  expect(`${problem.status} ${problem.code}`).toBe('500 internal-error');
  expect(answer.text).not.toMatch(/hunter2|SyntaxError|\.ts/);
  const line = gateway.logged.find((one) => one.includes('hunter2'));
  expect(line).toContain(problem.requestId);
});
