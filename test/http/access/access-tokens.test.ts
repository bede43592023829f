import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connect } from '../../former/clients/mqtt-clients.js';
import { ADMIN_TOKEN } from '../../former/gateway/running-gateway.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure, problemOf } from '../client.js';
import { startGateway, useGateway } from '../harness.js';

const redis = useRedis();
const running = useGateway(redis);
const issued = z.looseObject({ id: z.string(), token: z.string().min(40) });

describe('access tokens', () => {
  it('are issued, listed without the token, and deleted', async () => {
    const gateway = await startGateway(redis);
    const location = randomUUID();
    const grants = [
      { location, role: 'manager' },
      { location, group: randomUUID(), role: 'viewer' },
      { location: '*', role: 'admin' },
    ];
    const expiresAt = new Date(Date.now() + 1e6).toISOString();
    const created = await gateway.admin('POST', '/access-tokens', {
      json: { name: ' Nurse call ', grants, expiresAt },
    });
    expect(created.status).toBe(201);
    const { token, ...shown } = issued.parse(created.json);
    const { id } = shown;
    expect(shown).toEqual({
      id,
      name: 'Nurse call',
      grants,
      createdAt: expect.any(String),
      expiresAt,
      lastUsedAt: null,
    });

    const list = await gateway.admin('GET', '/access-tokens');
    expect(list.json).toEqual([shown]);
    const [stored] = (await gateway.stored()).accessTokens;
    for (const secret of [token, ADMIN_TOKEN, stored?.tokenHash ?? '?']) {
      expect(list.text).not.toContain(secret);
    }
    expect(gateway.logged.join('')).not.toContain(token);

    const client = await connect(gateway.running, { username: id, password: token });
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    expect((await gateway.admin('DELETE', `/access-tokens/${id}`)).status).toBe(204);
    await closed;
    expect(failure(await gateway.admin('DELETE', `/access-tokens/${id}`))).toBe(
      '404 access-token-not-found',
    );
    expect((await gateway.admin('GET', '/access-tokens')).json).toEqual([]);
  });

  it('never expire unless given an expiry', async () => {
    const gateway = running();
    for (const more of [{}, { expiresAt: null }]) {
      const json = { name: 'x', grants: [{ location: '*', role: 'viewer' }], ...more };
      const created = await gateway.admin('POST', '/access-tokens', { json });
      expect(created.json).toMatchObject({ expiresAt: null });
    }
  });

  it('may name locations or groups that do not exist, and outlive them', async () => {
    const gateway = await startGateway(redis);
    const home = await gateway.createLocation();
    const group = await gateway.createGroup(home);
    const token = await gateway.createToken([
      { location: home, group, role: 'viewer' },
      { location: randomUUID(), role: 'manager' },
    ]);
    const locations = async () => (await gateway.call('GET', '/care-homes', { token })).json;
    expect(await locations()).toMatchObject([{ id: home }]);
    expect((await gateway.admin('DELETE', `/care-homes/${home}`)).status).toBe(204);
    expect(await locations()).toEqual([]);
    expect((await gateway.admin('GET', '/access-tokens')).json).toHaveLength(1);
  });

  const location = randomUUID();
  const group = randomUUID();
  const wrong: [string, object, string[]][] = [
    ['no grant', { grants: [] }, ['grants']],
    ['grants that are not a list', { grants: { location: '*', role: 'viewer' } }, ['grants']],
    ['an unknown role', { grants: [{ location, role: 'owner' }] }, ['grants.0.role']],
    ['no location', { grants: [{ location: 'here', role: 'viewer' }] }, ['grants.0.location']],
    ['an admin of a location', { grants: [{ location, role: 'admin' }] }, ['grants.0.role']],
    [
      'an admin of a group',
      { grants: [{ location: '*', group, role: 'admin' }] },
      ['grants.0.group', 'grants.0.group'],
    ],
    [
      'a group in all locations',
      { grants: [{ location: '*', group, role: 'viewer' }] },
      ['grants.0.group'],
    ],
    [
      'a group that is not a UUID',
      { grants: [{ location, group: 'ground floor', role: 'viewer' }] },
      ['grants.0.group'],
    ],
    [
      'a group that is null',
      { grants: [{ location, group: null, role: 'viewer' }] },
      ['grants.0.group'],
    ],
    [
      'a misspelt group',
      { grants: [{ location, gruop: group, role: 'viewer' }] },
      ['grants.0.gruop'],
    ],
    ['an end in the past', { expiresAt: '2020-01-01T00:00:00Z' }, ['expiresAt']],
    ['an end without an offset', { expiresAt: '2099-01-01T00:00:00' }, ['expiresAt']],
    ['an end in a year of five digits', { expiresAt: '9999-12-31T23:59:59-05:00' }, ['expiresAt']],
    ['an end that is a number', { expiresAt: 4e12 }, ['expiresAt']],
  ];
  it.each(wrong)('are not issued for %s', async (_, part, paths) => {
    const gateway = running();
    const tokens = async () => (await gateway.admin('GET', '/access-tokens')).json;
    const before = await tokens();
    const json = { name: 'x', grants: [{ location, role: 'viewer' }], ...part };
    const answer = await gateway.admin('POST', '/access-tokens', { json });
    expect(failure(answer)).toBe('400 invalid-request');
    expect(problemOf(answer).errors?.map(({ path }) => path)).toEqual(paths);
    expect(await tokens()).toEqual(before);
  });

  it('have UUIDs, unlike the admin token', async () => {
    const gateway = running();
    expect(failure(await gateway.admin('DELETE', '/access-tokens/admin'))).toBe(
      '400 invalid-request',
    );
  });
});
