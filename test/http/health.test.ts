import { expect, it } from 'vitest';
import { startGateway, useRedis } from './harness.js';

const redis = useRedis();

it('is ready while no fault is its own, and names the others', async () => {
  const gateway = await startGateway(redis);
  const ready = async () => {
    const { status, headers, json } = await gateway.call('GET', '/readyz');
    return { status, type: headers['content-type'], json };
  };
  const type = 'application/json';
  expect(await ready()).toEqual({ status: 200, type, json: { ready: true, faults: [] } });
  const faults = ['a bridge is down'];
  gateway.health.reportElsewhere('bridge', faults[0]);
  expect(await ready()).toEqual({ status: 200, type, json: { ready: true, faults } });
  gateway.health.report('store', 'the store does not answer');
  expect((await ready()).status).toBe(503);
  gateway.health.report('store', undefined);
  expect((await ready()).status).toBe(200);
});

it('answers a problem with the faults when not ready, without logging an error', async () => {
  const gateway = await startGateway(redis);
  gateway.health.report('store', 'the store does not answer');
  const { status, headers, json } = await gateway.call('GET', '/readyz');
  expect(status).toBe(503);
  expect(headers['content-type']).toBe('application/problem+json');
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  expect(json).toEqual({
    type: 'urn:problem-type:care-home-gateway:not-ready',
    title: 'Not ready',
    status: 503,
    detail: 'The gateway cannot do its whole work: see `faults`.',
    instance: '/readyz',
    code: 'not-ready',
    requestId: headers['x-request-id'],
    ready: false,
    faults: ['the store does not answer'],
  });
  expect(gateway.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
});

it('is alive whatever the faults', async () => {
  const gateway = await startGateway(redis);
  gateway.health.report('store', 'the store does not answer');
  const answer = await gateway.call('GET', '/healthz');
  expect([answer.status, answer.json]).toEqual([200, { status: 'ok' }]);
});
