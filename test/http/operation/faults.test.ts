import { expect, it } from 'vitest';
import { SAFE_SETTINGS, useRedis } from '../../former/servers/shared-redis.js';
import { recordsOf } from '../access/audit-pages.js';
import { failure } from '../client.js';
import { startGateway } from '../harness.js';

const redis = useRedis(SAFE_SETTINGS);
const PATH = '/faults/store-lost-data/acknowledge';

it('clears an acknowledged fault, and records in the audit trail what was acknowledged', async () => {
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

it('lists the faults with advice, and which of them stay until they are acknowledged', async () => {
  const gateway = await startGateway(redis, { hasLostData: true });
  const token = await gateway.createToken([{ location: '*', role: 'viewer' }]);
  expect((await gateway.call('GET', '/faults', { token })).json).toEqual([
    {
      code: 'store-lost-data',
      stops: false,
      since: expect.stringMatching(/Z$/),
      message: expect.stringContaining('The store has lost up to 200 alarms'),
      advice: expect.stringContaining('acknowledge the fault'),
      acknowledgeable: true,
    },
  ]);
  expect(failure(await gateway.call('GET', '/faults'))).toBe('401 unauthenticated');
});

it.each([
  ['de', 'de', 'Der Speicher hat verloren: bis zu 200 Alarme (Nummern 801 bis 1000)'],
  ['fr, de-AT;q=0.8, en;q=0.5', 'de', 'Der Speicher hat verloren:'],
  ['de;q=0, *', 'en', 'The store has lost'],
  ['fr', 'en', 'The store has lost'],
  ['de;q=x,,;', 'de', 'Der Speicher hat verloren:'],
  ['', 'en', 'The store has lost'],
  [undefined, 'en', 'The store has lost'],
])('describes faults in the requested language: %s', async (wanted, language, message) => {
  const gateway = await startGateway(redis, { hasLostData: true });
  const token = await gateway.createToken([{ location: '*', role: 'viewer' }]);
  const headers = wanted === undefined ? {} : { 'Accept-Language': wanted };
  for (const path of ['/readyz', '/faults']) {
    const answer = await gateway.call('GET', path, { token, headers });
    expect(JSON.stringify(answer.json)).toContain(message);
    expect(answer.headers['content-language']).toBe(language);
    expect(answer.headers['vary']).toContain('Accept-Language');
  }
});

it('refuses a code that has no such fault', async () => {
  const gateway = await startGateway(redis);
  for (const code of ['store-lost-data', 'store-slow', 'nothing']) {
    const answer = await gateway.admin('POST', `/faults/${code}/acknowledge`);
    expect(failure(answer)).toBe('404 fault-not-found');
  }
});

it('keeps the fault when the acknowledgement cannot be recorded', async () => {
  const gateway = await startGateway(redis, { hasLostData: true, losesStore: true });
  gateway.loseStore();
  expect(failure(await gateway.admin('POST', PATH))).toBe('503 store-unavailable');
  expect(await gateway.faults()).toContainEqual(expect.stringContaining('200 alarms'));
});
