import { expect, it } from 'vitest';
import { startGateway, useRedis } from './harness.js';

const redis = useRedis();

it('/metrics is open to loopback', async () => {
  const { status, text } = await (await startGateway(redis)).call('GET', '/metrics');
  expect({ status, text }).toEqual({ status: 200, text: 'gateway_faults 0\n' });
});

it('/metrics needs the administrator from elsewhere', async () => {
  const gateway = await startGateway(redis, { isTrustedAddress: () => false });
  expect((await gateway.call('GET', '/metrics')).status).toBe(401);
  const token = await gateway.createToken([{ location: '*', role: 'viewer' }]);
  expect((await gateway.call('GET', '/metrics', { token })).status).toBe(403);
  expect((await gateway.admin('GET', '/metrics')).status).toBe(200);
});

it('/metrics needs the administrator from loopback too, where a proxy may be', async () => {
  const gateway = await startGateway(redis, { publicUrl: 'https://gateway.test' });
  expect((await gateway.call('GET', '/metrics')).status).toBe(401);
  expect((await gateway.admin('GET', '/metrics')).status).toBe(200);
});
