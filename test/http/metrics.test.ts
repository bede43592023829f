import { expect, it } from 'vitest';
import { startGateway, useRedis } from './harness.js';

const redis = useRedis();

it('/metrics is open to loopback', async () => {
  const { status, text } = await (await startGateway(redis)).call('GET', '/metrics');
  expect(status).toBe(200);
  expect(text).toContain('\ngateway_faults 0\n');
});

it('/metrics names the version of the Prometheus format', async () => {
  const { headers } = await (await startGateway(redis)).call('GET', '/metrics');
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
});

it('/metrics needs the administrator from other machines', async () => {
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
