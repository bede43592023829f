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

it.each(['attacker.example', 'attacker.example:8080', '192.0.2.1', 'localhost.attacker.example'])(
  '/metrics needs the administrator when a page of %s leads a browser to loopback',
  async (host) => {
    const gateway = await startGateway(redis);
    expect((await gateway.call('GET', '/metrics', { headers: { Host: host } })).status).toBe(401);
  },
);

it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1:8080', '127.1.2.3', '[::1]:8080'])(
  '/metrics is open to loopback under the name %s',
  async (host) => {
    const gateway = await startGateway(redis);
    expect((await gateway.call('GET', '/metrics', { headers: { Host: host } })).status).toBe(200);
  },
);

it('/metrics has what happened just before it was asked for, however soon it is asked again', async () => {
  let alarms = 0;
  const metrics = {
    contentType: 'text/plain',
    metrics: async () => `alarms ${alarms}`,
  };
  const gateway = await startGateway(redis, { metrics });
  expect((await gateway.call('GET', '/metrics')).text).toBe('alarms 0');
  alarms = 1;
  expect((await gateway.call('GET', '/metrics')).text).toBe('alarms 1');
});
