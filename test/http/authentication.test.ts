import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ADMIN_TOKEN } from '../harness/running-gateway.js';
import { useRedis } from '../harness/shared-redis.js';
import { failure, problemOf } from './client.js';
import { startGateway } from './harness.js';
import { fill, OPEN_PATHS, protectedRoutesOf } from './routes.js';

const redis = useRedis();
type Gateway = Awaited<ReturnType<typeof startGateway>>;

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
      for (const { method, path } of protectedRoutesOf()) {
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
  const page = await gateway.call('GET', '/');
  const [script = ''] = /console\/[\w.-]+\.js/.exec(page.text) ?? [];
  for (const path of OPEN_PATHS) {
    // Its files carry a digest in their names.
    const url = path === '/console/:file' ? `/${script}` : fill(path);
    // At the path of MQTT over WebSocket, without an upgrade.
    const status = path === '/mqtt' ? 426 : 200;
    expect((await gateway.call('GET', url, { token: 'nobody' })).status).toBe(status);
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

  /** Guesses until the address has to wait. */
  async function guess(gateway: Gateway, token: string): Promise<void> {
    for (let attempt = 0; attempt <= FREE_FAILURES; attempt++) {
      const answer = await gateway.call('GET', '/care-homes', { token });
      expect(failure(answer)).toBe('401 unauthenticated');
    }
  }

  it('has to wait, even with an admin token that could be guessed', async () => {
    const gateway = await startGateway(redis);
    await guess(gateway, 'guess');
    const refused = await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN });
    expect(failure(refused)).toBe('429 too-many-requests');
    expect(refused.headers['retry-after']).toBe('1');
    expect((await gateway.call('GET', '/healthz')).status).toBe(200);

    gateway.aheadMs = 250;
    expect((await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN })).status).toBe(200);
  });

  it('has to wait longer after every further one', async () => {
    const gateway = await startGateway(redis);
    await guess(gateway, 'guess');
    const waits: number[] = [];
    for (let further = 1; further <= 6; further++) {
      const refused = await gateway.call('GET', '/care-homes', { token: 'guess' });
      expect(failure(refused)).toBe('429 too-many-requests');
      const seconds = Number(refused.headers['retry-after']);
      waits.push(seconds);
      gateway.aheadMs += seconds * 1_000;
      const answer = await gateway.call('GET', '/care-homes', { token: 'guess' });
      expect(failure(answer)).toBe('401 unauthenticated');
    }
    expect(waits).toEqual(waits.toSorted());
    expect(waits.at(-1)).toBeGreaterThan(1);
  });

  it('need not wait with a valid token generated by the gateway', async () => {
    const gateway = await startGateway(redis);
    const token = await gateway.createToken([{ location: '*', role: 'viewer' }]);
    const invalid = `${token.slice(1)}A`;
    await guess(gateway, invalid);
    const refused = await gateway.call('GET', '/care-homes', { token: invalid });
    expect(failure(refused)).toBe('429 too-many-requests');
    expect((await gateway.call('GET', '/care-homes', { token })).status).toBe(200);
    // A valid token does not let the others guess on.
    expect((await gateway.call('GET', '/care-homes', { token: invalid })).status).toBe(429);
  });

  it('need not wait with the admin token where it came from before', async () => {
    const gateway = await startGateway(redis);
    expect((await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN })).status).toBe(200);
    await guess(gateway, 'guess');
    expect((await gateway.call('GET', '/care-homes', { token: 'guess' })).status).toBe(429);
    expect((await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN })).status).toBe(200);
  });

  it('is not counted for requests without a token', async () => {
    const gateway = await startGateway(redis);
    for (let attempt = 0; attempt <= FREE_FAILURES; attempt++) {
      await gateway.call('GET', '/care-homes');
    }
    expect((await gateway.call('GET', '/care-homes', { token: ADMIN_TOKEN })).status).toBe(200);
  });

  it('is not counted on this machine behind a proxy, where it may be anybody', async () => {
    const gateway = await startGateway(redis, {
      environment: { GATEWAY_HTTP_PUBLIC_URL: 'https://gateway.example.org' },
    });
    const token = 'A'.repeat(43);
    for (let attempt = 0; attempt <= FREE_FAILURES + 1; attempt++) {
      const answer = await gateway.call('GET', '/care-homes', { token });
      expect(failure(answer)).toBe('401 unauthenticated');
    }
  });

  it('has to wait behind a proxy, too, when it guesses at the admin token', async () => {
    const gateway = await startGateway(redis, {
      environment: { GATEWAY_HTTP_PUBLIC_URL: 'https://gateway.example.org' },
    });
    await guess(gateway, 'guess');
    const refused = await gateway.call('GET', '/care-homes', { token: 'guess' });
    expect(failure(refused)).toBe('429 too-many-requests');
  });
});

it('shows the token neither in the answer nor in the log', async () => {
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
