import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
import { statusesOf } from '../client.js';
import { startGateway } from '../harness.js';
import {
  DEVICE_PATHS,
  fill,
  protectedRoutesOf,
  type Route,
  routesOf,
  SIGNED_PATHS,
} from '../routes.js';
import { page } from './audit-pages.js';
import { world } from './audit-world.js';

const redis = useRedis();
/** Closes `/metrics` even to loopback, because anyone may come from there. */
const BEHIND_PROXY = { GATEWAY_HTTP_PUBLIC_URL: 'https://gateway.test' };

describe('every denied permission', () => {
  it('leaves a record, on every route', async () => {
    const gateway = await startGateway(redis);
    const { locationId, deviceId } = await world(gateway);
    const { id, token } = await gateway.issueToken([{ location: randomUUID(), role: 'viewer' }]);
    const before = await gateway.recordCount();
    const denied: object[] = [];
    for (const { method, path } of protectedRoutesOf()) {
      const target = fill(path, { locationId, deviceId });
      const answer = await gateway.call(method, `${target}?secret=x`, { token });
      if (answer.status !== 403) continue;
      const requestId = answer.headers['x-request-id'];
      denied.push({
        action: 'permission.refused',
        actor: { type: 'access-token', id, address: '127.0.0.1', requestId },
        locationId: path.includes(':locationId') ? locationId : null,
        details: { method, path: target },
      });
      // Up to ten a second are recorded one by one.
      gateway.aheadMs += 1_000;
    }
    expect(denied.length).toBeGreaterThan(30);
    await expect.poll(() => gateway.recordCount()).toBe(before + denied.length);
    const { events } = await page(gateway, `order=asc&limit=100`);
    expect(events.filter(({ id: record }) => Number(record) > before)).toMatchObject(denied);
  });

  it('leaves a record when the handler denies it, too', async () => {
    const gateway = await startGateway(redis);
    const { locationId, deviceId, otherLocationId } = await world(gateway);
    const token = await gateway.createToken([{ location: locationId, role: 'manager' }]);
    const path = `/care-homes/${locationId}/devices/${deviceId}/move`;
    const json = { targetLocationId: otherLocationId };
    const before = await gateway.recordCount();
    expect((await gateway.call('POST', path, { token, json })).status).toBe(403);
    await expect.poll(() => gateway.recordCount()).toBe(before + 1);
    const { events } = await page(gateway, `actions=permission.refused&resource=${deviceId}`);
    expect(events.map(({ details }) => details)).toEqual([{ method: 'POST', path }]);
  });

  it('leaves a record for the metrics, too, which are open to others', async () => {
    const gateway = await startGateway(redis, { environment: BEHIND_PROXY });
    const token = await gateway.createToken([{ location: '*', role: 'manager' }]);
    const before = await gateway.recordCount();
    expect((await gateway.call('GET', '/metrics', { token })).status).toBe(403);
    await expect.poll(() => gateway.recordCount()).toBe(before + 1);
  });

  it('is answered with 403 on every route, even while the store is unreachable', async () => {
    const gateway = await startGateway(redis, {
      environment: BEHIND_PROXY,
      hasLostData: true,
      losesStore: true,
    });
    const ids = await world(gateway);
    const camera = await gateway.createCamera(ids.locationId);
    const token = await gateway.createToken([{ location: randomUUID(), role: 'viewer' }]);
    const signature = '?expires=1&signature=x';
    const basic = `Basic ${Buffer.from(`${camera.id}:${camera.secret}`).toString('base64')}`;
    const deniedOf = async (routes: readonly Route[]) => {
      const found: Route[] = [];
      for (const { method, path } of routes) {
        const isOfDevice = DEVICE_PATHS.includes(path);
        const target = fill(path, isOfDevice ? {} : { ...ids });
        const answer = await gateway.call(
          method,
          SIGNED_PATHS.includes(path) ? target + signature : target,
          isOfDevice ? { headers: { Authorization: basic } } : { token },
        );
        if (answer.status === 403) found.push({ method, path });
      }
      return found;
    };
    const denied = await deniedOf(routesOf());
    expect(denied.length).toBeGreaterThan(30);
    const paths = denied.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(['/metrics', ...SIGNED_PATHS, ...DEVICE_PATHS]));
    gateway.loseStore();
    expect(await deniedOf(denied)).toEqual(denied);
  });

  it('is answered with 403, however many there are; ten a second get their own record, the rest share one', async () => {
    const gateway = await startGateway(redis);
    const { locationId, deviceId } = await world(gateway);
    const token = await gateway.createToken([{ location: locationId, role: 'viewer' }]);
    const path = '/access-tokens';
    const ASKED = 120;
    const before = await gateway.recordCount();
    const startedAt = performance.now();
    const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}`;
    const statuses = await statusesOf(gateway.port, head, ASKED);
    const regained = Math.ceil((performance.now() - startedAt) / 100);
    expect(statuses).toEqual(Array(ASKED).fill(403));
    expect(
      (await gateway.call('GET', `/care-homes/${locationId}/devices/${deviceId}`, { token }))
        .status,
    ).toBe(200);
    gateway.aheadMs += 60_000;
    // Not always the newest: the last denial may get its own record again.
    const record = async () => {
      const { events } = await page(gateway, 'actions=permission.refused&limit=100');
      return events.find(({ details }) => 'count' in details);
    };
    const counted = async () => Number((await record())?.details['count']);
    // It comes after some thirty records that are written one by one.
    await expect.poll(counted).toBeGreaterThanOrEqual(ASKED - 10 - regained);
    const records = (await gateway.recordCount()) - before;
    expect(records - 1 + (await counted())).toBe(ASKED);
    expect((await record())?.details).toMatchObject({ method: 'GET', path, firstPath: path });
  });
});

describe('an invalid access token', () => {
  it('leaves a record that does not contain the token; a missing token leaves none', async () => {
    const gateway = await startGateway(redis);
    const before = await gateway.recordCount();
    expect((await gateway.call('GET', '/care-homes')).status).toBe(401);
    expect((await gateway.call('GET', '/care-homes', { token: 'guessed-token' })).status).toBe(401);
    await expect.poll(() => gateway.recordCount()).toBe(before + 1);
    const { events } = await page(gateway);
    expect(events[0]).toMatchObject({
      action: 'authentication.refused',
      actor: { type: 'anonymous', id: null, address: '127.0.0.1' },
      details: { method: 'GET', path: '/care-homes' },
    });
    expect(JSON.stringify(events)).not.toContain('guessed-token');
  });
});
