import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { SAFE_SETTINGS, useRedis } from '../../former/servers/shared-redis.js';
import { startGateway, useGateway } from '../harness.js';

const redis = useRedis(SAFE_SETTINGS);
const running = useGateway(redis);

it('/metrics is open to loopback', async () => {
  const { status, text } = await running().call('GET', '/metrics');
  expect(status).toBe(200);
  expect(text).toContain('\ngateway_faults 0\n');
});

it('/metrics states the version of the Prometheus format', async () => {
  const { headers } = await running().call('GET', '/metrics');
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
});

/** An address of this machine that is not loopback. */
const ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

it.skipIf(ADDRESS === undefined)(
  '/metrics requires the administrator from other machines',
  async () => {
    const gateway = await startGateway(redis, {
      environment: { GATEWAY_HTTP_HOST: '0.0.0.0', GATEWAY_ALLOW_PLAINTEXT: 'true' },
    });
    const ask = async (headers: Record<string, string>) =>
      (await fetch(`http://${ADDRESS}:${gateway.port}/metrics`, { headers })).status;
    expect(await ask({})).toBe(401);
    const token = await gateway.createToken([{ location: '*', role: 'viewer' }]);
    expect(await ask({ Authorization: `Bearer ${token}` })).toBe(403);
    expect(await ask({ Authorization: `Bearer ${ADMIN_TOKEN}` })).toBe(200);
  },
);

it('/metrics requires the administrator from loopback, too, when a proxy may be there', async () => {
  const gateway = await startGateway(redis, {
    environment: { GATEWAY_HTTP_PUBLIC_URL: 'https://gateway.test' },
  });
  expect((await gateway.call('GET', '/metrics')).status).toBe(401);
  expect((await gateway.admin('GET', '/metrics')).status).toBe(200);
});

it.each(['attacker.example', 'attacker.example:8080', '192.0.2.1', 'localhost.attacker.example'])(
  '/metrics requires the administrator when a page of %s directs a browser to loopback',
  async (host) => {
    const gateway = running();
    expect((await gateway.call('GET', '/metrics', { headers: { Host: host } })).status).toBe(401);
  },
);

it.each(['localhost', 'LOCALHOST:8080', '127.0.0.1:8080', '127.1.2.3', '[::1]:8080'])(
  '/metrics is open to loopback under the name %s',
  async (host) => {
    const gateway = running();
    expect((await gateway.call('GET', '/metrics', { headers: { Host: host } })).status).toBe(200);
  },
);

it('/metrics is up to date at each request, however soon it follows the last', async () => {
  const gateway = await startGateway(redis, { hasLostData: true });
  expect((await gateway.call('GET', '/metrics')).text).toMatch(
    /\ngateway_faults 1\n[\s\S]*\ngateway_fault\{code="store-lost-data"\} 1\n/,
  );
  await gateway.admin('POST', '/faults/store-lost-data/acknowledge');
  expect((await gateway.call('GET', '/metrics')).text).toContain('\ngateway_faults 0\n');
});
