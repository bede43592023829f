import { expect, it, onTestFinished, vi } from 'vitest';
import { SiteModel } from '../../../src/site/site-model.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { problemOf } from '../client.js';
import { startGateway } from '../harness.js';

const redis = useRedis();

it('hides the message of an unexpected failure, and logs it under the request id', async () => {
  const gateway = await startGateway(redis);
  // Simulates a fault of the program, because none is known.
  const broken = vi.spyOn(SiteModel.prototype, 'locations').mockImplementation(() => {
    throw new Error('hunter2');
  });
  onTestFinished(() => broken.mockRestore());
  const answer = await gateway.admin('GET', '/care-homes');
  const problem = problemOf(answer);
  expect(`${problem.status} ${problem.code}`).toBe('500 internal-error');
  expect(answer.text).not.toMatch(/hunter2|Error:|\.ts/);
  const line = gateway.logged.find((one) => one.includes('hunter2'));
  expect(line).toContain(problem.requestId);
});
