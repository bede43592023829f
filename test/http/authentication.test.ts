import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { failure, problemOf } from './client.js';
import { ADMIN_TOKEN, startGateway, useRedis } from './harness.js';
import { fill, OPEN_PATHS, protectedRoutesOf } from './routes.js';

const redis = useRedis();
const FOREIGN = () => false;

describe('every route but the open ones', () => {
  const credentials = {
    'no Authorization': {},
    'an unknown token': { Authorization: 'Bearer nobody' },
    'another scheme': { Authorization: `Basic ${ADMIN_TOKEN}` },
    'a token without scheme': { Authorization: ADMIN_TOKEN },
    'an empty token': { Authorization: 'Bearer ' },
    'two tokens': { Authorization: `Bearer ${ADMIN_TOKEN}, Bearer ${ADMIN_TOKEN}` },
    'a token as a device would use it': { Authorization: `Bearer admin:${ADMIN_TOKEN}` },
  };
  for (const [what, headers] of Object.entries(credentials)) {
    it(`refuses ${what}`, async () => {
      const gateway = await startGateway(redis);
      const ids = { locationId: await gateway.createLocation() };
      for (const { method, path } of protectedRoutesOf(gateway.app)) {
        const answer = await gateway.call(method, fill(path, ids), { headers });
        expect(`${path} ${failure(answer)}`).toBe(`${path} 401 unauthenticated`);
        expect(answer.headers['www-authenticate']).toBe('Bearer');
      }
    });
  }

  it('takes the scheme in either case', async () => {
    const gateway = await startGateway(redis);
    const headers = { Authorization: `bEARER ${ADMIN_TOKEN}` };
    expect((await gateway.call('GET', '/care-homes', { headers })).status).toBe(200);
  });
});

it('leaves the open routes open', async () => {
  const gateway = await startGateway(redis);
  for (const path of OPEN_PATHS) {
    expect((await gateway.call('GET', fill(path), { token: 'nobody' })).status).toBe(200);
  }
});

it('refuses a deleted token at once', async () => {
  const gateway = await startGateway(redis);
  const created = await gateway.admin('POST', '/access-tokens', {
    json: { name: 'short-lived', grants: [{ location: '*', role: 'viewer' }] },
  });
  const { id, token } = z.looseObject({ id: z.string(), token: z.string() }).parse(created.json);
  expect((await gateway.call('GET', '/care-homes', { token })).status).toBe(200);
  expect((await gateway.admin('DELETE', `/access-tokens/${id}`)).status).toBe(204);
  expect(failure(await gateway.call('GET', '/care-homes', { token }))).toBe('401 unauthenticated');
});

it('refuses a token whose time has come', async () => {
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
  it('must wait, also with an admin token that could be guessed, and may go on after a minute', async () => {
    const gateway = await startGateway(redis, { isTrustedAddress: FOREIGN });
    for (let attempt = 1; attempt <= 20; attempt++) {
      const answer = await gateway.call('GET', '/care-homes', { token: 'guess' });
      expect(failure(answer)).toBe('401 unauthenticated');
    }
    const refused = await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN });
    expect(failure(refused)).toBe('429 too-many-requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect((await gateway.call('GET', '/healthz')).status).toBe(200);

    gateway.aheadMs = 61_000;
    expect((await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN })).status).toBe(200);
  });

  it('need not wait with a valid one of the making of the gateway', async () => {
    const gateway = await startGateway(redis, { isTrustedAddress: FOREIGN });
    const token = await gateway.createToken([{ location: '*', role: 'viewer' }]);
    const guess = `${token.slice(1)}A`;
    for (let attempt = 1; attempt <= 20; attempt++) {
      const answer = await gateway.call('GET', '/care-homes', { token: guess });
      expect(failure(answer)).toBe('401 unauthenticated');
    }
    const refused = await gateway.call('GET', '/care-homes', { token: guess });
    expect(failure(refused)).toBe('429 too-many-requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await gateway.call('GET', '/care-homes', { token })).status).toBe(200);
    // That it was valid is no reason to let the others guess on.
    expect((await gateway.call('GET', '/care-homes', { token: guess })).status).toBe(429);
  });

  it('is not counted for requests without a token', async () => {
    const gateway = await startGateway(redis, { isTrustedAddress: FOREIGN });
    for (let attempt = 1; attempt <= 25; attempt++) await gateway.call('GET', '/care-homes');
    expect((await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN })).status).toBe(200);
  });

  it('need not wait on loopback', async () => {
    const gateway = await startGateway(redis);
    for (let attempt = 1; attempt <= 25; attempt++) {
      const answer = await gateway.call('GET', '/care-homes', { token: 'guess' });
      expect(failure(answer)).toBe('401 unauthenticated');
    }
  });
});

it('tells nothing of the token in the answer or the log', async () => {
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
