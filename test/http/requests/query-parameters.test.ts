import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf } from '../client.js';
import { useGateway } from '../harness.js';
import { DEVICE_PATHS, fill, routesOf, SIGNED_PATHS } from '../routes.js';

const running = useGateway(useRedis());

/** Pages take any parameter: their files have a digest in the query. */
const PAGES = ['/', '/docs', '/docs/mqtt', '/docs/:file'];
/** The path of MQTT over WebSocket has nothing to parameterise; signed URLs have a signature. */
const OWN_RULES = [...PAGES, '/console/:file', '/mqtt', ...SIGNED_PATHS];

describe('a query parameter that a route does not have', () => {
  it('is answered with 400 and its name, on every route', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const groupId = await gateway.createGroup(locationId);
    const roomId = await gateway.createRoom(locationId, groupId);
    const deviceId = await gateway.createDevice(locationId);
    const ids = { locationId, groupId, roomId, deviceId, name: 'region' };
    const others = [...OWN_RULES, ...DEVICE_PATHS];
    const routes = routesOf().filter(({ path }) => !others.includes(path));
    expect(routes.length).toBeGreaterThan(30);
    for (const { method, path } of routes) {
      const target = `${fill(path, ids)}?kind=fall&kind=noise&__proto__`;
      const json = method === 'GET' || method === 'DELETE' ? undefined : {};
      const problem = problemOf(await gateway.admin(method, target, { json }));
      expect([method, path, problem.code, problem.errors]).toEqual([
        method,
        path,
        'invalid-request',
        [
          { path: 'kind', message: 'is not a known parameter' },
          { path: '__proto__', message: 'is not a known parameter' },
        ],
      ]);
    }
  });

  it('is not mistaken for a known one', async () => {
    const gateway = running();
    for (const query of ['action=device.created', 'limit=1&Limit=2', '=1', 'kinds=fall', '=']) {
      expect(failure(await gateway.admin('GET', `/audit?${query}`))).toBe('400 invalid-request');
    }
    expect((await gateway.admin('GET', '/audit?limit=1&actions=device.created')).status).toBe(200);
    expect((await gateway.admin('HEAD', '/audit?Limit=1')).status).toBe(400);
  });

  it('is checked after the permission', async () => {
    const gateway = running();
    const token = await gateway.createToken([{ location: randomUUID(), role: 'viewer' }]);
    expect(failure(await gateway.call('GET', '/audit?action=a', { token }))).toBe('403 forbidden');
    expect(failure(await gateway.call('GET', '/audit?action=a'))).toBe('401 unauthenticated');
  });

  it('is ignored by the documentation', async () => {
    const gateway = running();
    for (const path of PAGES) {
      expect((await gateway.call('GET', `${fill(path)}?1234`)).status).toBe(200);
    }
  });
});
