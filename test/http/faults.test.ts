import { expect, it } from 'vitest';
import { SAFE_SETTINGS, useRedis } from '../harness/shared-redis.js';
import { recordsOf } from './audit-pages.js';
import { failure } from './client.js';
import { startGateway } from './harness.js';

const redis = useRedis(SAFE_SETTINGS);
const PATH = '/faults/store-lost-data/acknowledge';

it('an acknowledged fault is over, and the audit trail says what was acknowledged', async () => {
  const gateway = await startGateway(redis, { hasLostData: true });
  const [message] = await gateway.faults();
  expect(message).toContain(
    'The store has lost up to 200 alarms (numbers 801 to 1000), noticed at',
  );
  expect((await gateway.call('GET', '/readyz')).status).toBe(200);
  const records = await recordsOf(gateway, async () => {
    expect((await gateway.admin('POST', PATH)).status).toBe(204);
    expect(failure(await gateway.admin('POST', PATH))).toBe('404 fault-not-found');
  });
  expect(await gateway.faults()).toEqual([]);
  expect(records).toMatchObject([
    { action: 'fault.acknowledged', resourceId: 'store-lost-data', details: { message } },
  ]);
});

it('says which faults stay until they are acknowledged', async () => {
  const gateway = await startGateway(redis, { hasLostData: true });
  const faults = async (token?: string) => (await gateway.call('GET', '/readyz', { token })).json;
  const token = await gateway.createToken([{ location: '*', role: 'viewer' }]);
  const fault = { code: 'store-lost-data', stops: false };
  expect(await faults(token)).toMatchObject({ faults: [{ ...fault, acknowledgeable: true }] });
  expect(await faults()).toMatchObject({ faults: [fault] });
  expect(JSON.stringify(await faults())).not.toContain('acknowledgeable');
});

it('refuses a code without such a fault', async () => {
  const gateway = await startGateway(redis);
  for (const code of ['store-lost-data', 'store-slow', 'nothing']) {
    const answer = await gateway.admin('POST', `/faults/${code}/acknowledge`);
    expect(failure(answer)).toBe('404 fault-not-found');
  }
});

it('leaves the fault when the acknowledgement cannot be recorded', async () => {
  const gateway = await startGateway(redis, { hasLostData: true, losesStore: true });
  gateway.loseStore();
  expect(failure(await gateway.admin('POST', PATH))).toBe('503 store-unavailable');
  expect(await gateway.faults()).toContainEqual(expect.stringContaining('200 alarms'));
});
