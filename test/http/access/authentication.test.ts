import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf, statusesOf } from '../client.js';
import { startGateway, type TestGateway, useGateway } from '../harness.js';
import { fill, OPEN_PATHS, protectedRoutesOf } from '../routes.js';

const redis = useRedis();
const running = useGateway(redis);

describe('every route except the open ones', () => {
  it('answers 401 when there is no token', async () => {
    const gateway = running();
    const ids = { locationId: await gateway.createLocation() };
    for (const { method, path } of protectedRoutesOf()) {
      const answer = await gateway.call(method, fill(path, ids));
      expect(`${path} ${failure(answer)}`).toBe(`${path} 401 unauthenticated`);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
  });

  it.each([
    ['unknown', 'Bearer nobody'],
    ['in another scheme', `Basic ${ADMIN_TOKEN}`],
    ['without a scheme', ADMIN_TOKEN],
    ['empty', 'Bearer '],
    ['one of two', `Bearer ${ADMIN_TOKEN}, Bearer ${ADMIN_TOKEN}`],
    ['as a device would use it', `Bearer admin:${ADMIN_TOKEN}`],
  ])('answers 401 when the token is %s', async (_, authorization) => {
    const headers = { Authorization: authorization };
    const answer = await running().call('GET', '/care-homes', { headers });
    expect(failure(answer)).toBe('401 unauthenticated');
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  it('accepts the scheme in any case', async () => {
    const headers = { Authorization: `bEARER ${ADMIN_TOKEN}` };
    expect((await running().call('GET', '/care-homes', { headers })).status).toBe(200);
  });
});

it('leaves the open routes open', async () => {
  const gateway = running();
  const page = await gateway.call('GET', '/');
  const [script = ''] = /console\/[\w.-]+\.js/.exec(page.text) ?? [];
  for (const path of OPEN_PATHS) {
    // The names of its files contain a digest.
    const url = path === '/console/:file' ? `/${script}` : fill(path);
    // The path of MQTT over WebSocket, without an upgrade.
    const status = path === '/mqtt' ? 426 : 200;
    expect((await gateway.call('GET', url, { token: 'nobody' })).status).toBe(status);
  }
});

it('refuses a deleted token immediately', async () => {
  const gateway = running();
  const created = await gateway.admin('POST', '/access-tokens', {
    json: { name: 'short-lived', grants: [{ location: '*', role: 'viewer' }] },
  });
  const { id, token } = z.looseObject({ id: z.string(), token: z.string() }).parse(created.json);
  expect((await gateway.call('GET', '/care-homes', { token })).status).toBe(200);
  expect((await gateway.admin('DELETE', `/access-tokens/${id}`)).status).toBe(204);
  expect(failure(await gateway.call('GET', '/care-homes', { token }))).toBe('401 unauthenticated');
});

it('refuses an expired token', async () => {
  const gateway = await startGateway(redis);
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  const created = await gateway.admin('POST', '/access-tokens', {
    json: { name: 'for a minute', grants: [{ location: '*', role: 'viewer' }], expiresAt },
  });
  const { token } = z.looseObject({ token: z.string() }).parse(created.json);
  expect((await gateway.call('GET', '/care-homes', { token })).status).toBe(200);
  gateway.aheadMs = 61_000;
  expect(failure(await gateway.call('GET', '/care-homes', { token }))).toBe('401 unauthenticated');
});

describe('an address with many invalid tokens', () => {
  const FREE_FAILURES = 100;

  /** Makes one request more than may fail freely; expects 401 each time. */
  async function ask(gateway: TestGateway, ...headers: string[]): Promise<void> {
    const head = ['GET /care-homes HTTP/1.1', 'Host: x', ...headers].join('\r\n');
    const statuses = await statusesOf(gateway.port, head, FREE_FAILURES + 1);
    expect(statuses).toEqual(Array(FREE_FAILURES + 1).fill(401));
  }

  /** Guesses until the address has to wait. */
  const guess = (gateway: TestGateway, token: string) =>
    ask(gateway, `Authorization: Bearer ${token}`);

  it('has to wait, even with an admin token that is easy to guess', async () => {
    const gateway = await startGateway(redis, { hasStoppedClock: true });
    await guess(gateway, 'guess');
    const refused = await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN });
    expect(failure(refused)).toBe('429 too-many-requests');
    expect(refused.headers['retry-after']).toBe('1');
    expect((await gateway.call('GET', '/healthz')).status).toBe(200);
    gateway.aheadMs = 250;
    for (let further = 1; further <= 3; further++) {
      const guessed = await gateway.call('GET', '/care-homes', { token: 'guess' });
      expect(failure(guessed)).toBe('401 unauthenticated');
      gateway.aheadMs += 250 * 2 ** further;
    }
    await gateway.call('GET', '/care-homes', { token: 'guess' });
    const waiting = await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN });
    expect(Number(waiting.headers['retry-after'])).toBeGreaterThan(1);
    gateway.aheadMs += 4_000;
    expect((await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN })).status).toBe(200);
  });

  it('does not wait with a valid token generated by the gateway', async () => {
    const gateway = await startGateway(redis, { hasStoppedClock: true });
    const token = await gateway.createToken([{ location: '*', role: 'viewer' }]);
    const invalid = `${token.slice(1)}A`;
    await guess(gateway, invalid);
    const refused = await gateway.call('GET', '/care-homes', { token: invalid });
    expect(failure(refused)).toBe('429 too-many-requests');
    expect((await gateway.call('GET', '/care-homes', { token })).status).toBe(200);
    // A valid token does not let the others continue guessing.
    expect((await gateway.call('GET', '/care-homes', { token: invalid })).status).toBe(429);
  });

  it('is not penalised for requests without a token', async () => {
    const gateway = await startGateway(redis, { hasStoppedClock: true });
    await ask(gateway);
    expect((await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN })).status).toBe(200);
  });

  it('is not told apart behind a proxy, and waits only for guesses at the admin token', async () => {
    const gateway = await startGateway(redis, {
      hasStoppedClock: true,
      environment: { GATEWAY_HTTP_PUBLIC_URL: 'https://gateway.example.org' },
    });
    await guess(gateway, 'A'.repeat(43));
    await guess(gateway, 'guess');
    const refused = await gateway.call('GET', '/care-homes', { token: 'guess' });
    expect(failure(refused)).toBe('429 too-many-requests');
  });
});

it('reveals the token neither in the answer nor in the log', async () => {
  const gateway = await startGateway(redis);
  const answer = await gateway.call('GET', '/care-homes?token=query-secret', {
    token: 'guess-secret',
  });
  await gateway.admin('GET', '/care-homes');
  expect(problemOf(answer).instance).toBe('/care-homes');
  const everything = answer.text + gateway.logged.join('');
  for (const secret of ['guess-secret', 'query-secret', ADMIN_TOKEN]) {
    expect(everything).not.toContain(secret);
  }
});
