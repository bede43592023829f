import { setTimeout } from 'node:timers/promises';
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

it('/metrics are made once for all who ask at the same time, and seldom when that takes long', async () => {
  let rendered = 0;
  const metrics = {
    contentType: 'text/plain',
    metrics: async () => {
      await setTimeout(40);
      return `rendered ${++rendered}`;
    },
  };
  const gateway = await startGateway(redis, { metrics });
  const asked = Array.from({ length: 30 }, () => gateway.call('GET', '/metrics'));
  for (const { text } of await Promise.all(asked)) expect(text).toMatch(/^rendered/);
  expect(rendered).toBeLessThan(10);
  const before = rendered;
  gateway.aheadMs += 60_000;
  expect((await gateway.call('GET', '/metrics')).text).toBe(`rendered ${before + 1}`);
});

it('/metrics are made anew soon, when the machine was held up for an hour while they were made', async () => {
  let rendered = 0;
  const metrics = {
    contentType: 'text/plain',
    metrics: async () => {
      gateway.aheadMs += 3_600_000;
      return `rendered ${++rendered}`;
    },
  };
  const gateway = await startGateway(redis, { metrics });
  expect((await gateway.call('GET', '/metrics')).text).toBe('rendered 1');
  gateway.aheadMs += 5_001;
  expect((await gateway.call('GET', '/metrics')).text).toBe('rendered 2');
});
