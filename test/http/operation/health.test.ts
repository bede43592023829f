import { expect, it } from 'vitest';
import { SAFE_SETTINGS, useRedis } from '../../former/servers/shared-redis.js';
import { startGateway } from '../harness.js';

const redis = useRedis(SAFE_SETTINGS);

/** The time at which a fault began. */
const TIME = expect.stringMatching(/^\d{4}-.*Z$/);

it('is ready while no fault is its own, and lists the others', async () => {
  const gateway = await startGateway(redis, { hasLostData: true, losesStore: true });
  const ready = async () => {
    const { status, headers, json } = await gateway.call('GET', '/readyz');
    return { status, type: headers['content-type'], json };
  };
  const is = (faults: unknown[]) => ({
    status: 200,
    type: 'application/json',
    json: { ready: true, version: expect.stringMatching(/^\d/), faults },
  });
  expect(await ready()).toEqual(is([{ code: 'store-lost-data', stops: false, since: TIME }]));
  expect(await gateway.faults()).toEqual([expect.stringContaining('200 alarms')]);
  await gateway.admin('POST', '/faults/store-lost-data/acknowledge');
  expect(await ready()).toEqual(is([]));
  gateway.loseStore();
  await expect.poll(async () => (await ready()).status).toBe(503);
  gateway.regainStore();
  await expect.poll(async () => (await ready()).status).toBe(200);
});

it('answers with a problem listing the faults when not ready, logs no error, and is alive', async () => {
  const gateway = await startGateway(redis, { losesStore: true });
  gateway.loseStore();
  const answered = async () => (await gateway.call('GET', '/readyz')).status;
  await expect.poll(answered).toBe(503);
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
    version: expect.stringMatching(/^\d/),
    faults: [{ code: 'store-unreachable', stops: true, since: TIME }],
  });
  const [fault] = await gateway.faults();
  expect(fault).toMatch(/store/);
  const requests = gateway.logged.filter((line) => line.includes('/readyz'));
  expect(requests.length).toBeGreaterThan(0);
  expect(requests.filter((line) => line.includes('"level":50'))).toEqual([]);
  const failed = gateway.logged.filter((line) => line.includes('failed to answer'));
  expect(failed).toEqual([]);
  const alive = await gateway.call('GET', '/healthz');
  expect([alive.status, alive.json]).toEqual([200, { status: 'ok' }]);
});
