import { expect, it } from 'vitest';
import { startGateway, useRedis } from './harness.js';

const redis = useRedis();

it('is ready as long as nothing is wrong, and says what is', async () => {
  const gateway = await startGateway(redis);
  const ready = async () => {
    const { status, json } = await gateway.call('GET', '/readyz');
    return { status, json };
  };
  expect(await ready()).toEqual({ status: 200, json: { ready: true, faults: [] } });
  gateway.health.report('store', 'the store does not answer');
  expect(await ready()).toEqual({
    status: 503,
    json: { ready: false, faults: ['the store does not answer'] },
  });
  gateway.health.report('store', undefined);
  expect((await ready()).status).toBe(200);
});

it('is alive whatever is wrong', async () => {
  const gateway = await startGateway(redis);
  gateway.health.report('store', 'the store does not answer');
  const answer = await gateway.call('GET', '/healthz');
  expect([answer.status, answer.json]).toEqual([200, { status: 'ok' }]);
});
