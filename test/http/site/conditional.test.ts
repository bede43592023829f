import { describe, expect, it } from 'vitest';
import { useRedis } from '../../harness/servers/shared-redis.js';
import type { Answer } from '../client.js';
import { failure } from '../client.js';
import { useGateway } from '../harness.js';

const running = useGateway(useRedis());

const RESOURCES = ['location', 'group', 'room', 'device', 'custom data', 'access token'] as const;
type Resource = (typeof RESOURCES)[number];

async function made(resource: Resource) {
  const gateway = running();
  const locationId = await gateway.createLocation();
  const home = `/care-homes/${locationId}`;
  const paths: Record<Resource, () => Promise<string>> = {
    location: async () => home,
    group: async () => `${home}/groups/${await gateway.createGroup(locationId)}`,
    room: async () => `${home}/rooms/${await gateway.createRoom(locationId)}`,
    device: async () => `${home}/devices/${await gateway.createDevice(locationId)}`,
    'access token': async () =>
      `/access-tokens/${(await gateway.issueToken([{ location: locationId, role: 'viewer' }])).id}`,
    'custom data': async () =>
      `${home}/devices/${await gateway.createDevice(locationId)}/custom-data`,
  };
  const path = await paths[resource]();
  const first = await gateway.admin('GET', path);
  return { gateway, path, first, tag: tagOf(first) };
}

function tagOf({ headers }: Answer): string {
  return String(headers.etag);
}

describe.each(RESOURCES)('conditional requests: %s', (resource) => {
  it('is not sent again to a client that has it, until it changes', async () => {
    const { gateway, path, first, tag } = await made(resource);
    expect(tag).toMatch(/^"[\w.-]+"$/);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await gateway.admin('GET', path, { headers: { 'If-None-Match': known } });
      expect([again.status, again.text, tagOf(again)], known).toEqual([304, '', tag]);
      expect(again.headers['x-request-id']).toBeDefined();
    }
    const changed = await gateway.admin('PATCH', path, { json: { name: 'Changed' } });
    expect([changed.status, tagOf(changed) === tag]).toEqual([200, false]);
    const anew = await gateway.admin('GET', path, { headers: { 'If-None-Match': tag } });
    expect([anew.status, tagOf(anew)]).toEqual([200, tagOf(changed)]);
    expect(anew.text).not.toBe(first.text);
  });

  it('is changed only by a client that has seen its current state', async () => {
    const { gateway, path, first, tag } = await made(resource);
    const change = (name: string, seen: string) =>
      gateway.admin('PATCH', path, { json: { name }, headers: { 'If-Match': seen } });
    for (const seen of ['"other"', `W/${tag}`, tag.slice(1, -1), '']) {
      expect(failure(await change('Mine', seen)), seen).toBe('412 precondition-failed');
    }
    expect((await gateway.admin('GET', path)).text).toBe(first.text);

    // Two technicians have seen the same version.
    const answers = await Promise.all([change('Mine', tag), change('Yours', tag)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 412]);
    expect((await gateway.admin('GET', path)).text).toContain('Mine');
    const [mine] = answers;
    expect((await change('Mine too', `"other", ${tagOf(mine)}`)).status).toBe(200);
    expect((await change('Anyhow', '*')).status).toBe(200);
  });
});

describe.each(RESOURCES.filter((resource) => resource !== 'custom data'))(
  'conditional requests: %s',
  (resource) => {
    it('is deleted only by a client that has seen its current state', async () => {
      const { gateway, path, tag } = await made(resource);
      const { headers } = await gateway.admin('PATCH', path, { json: { name: 'Changed' } });
      const remove = (seen: string) =>
        gateway.admin('DELETE', path, { headers: { 'If-Match': seen } });
      expect(failure(await remove(tag))).toBe('412 precondition-failed');
      expect((await gateway.admin('GET', path)).status).toBe(200);
      expect((await remove(String(headers.etag))).status).toBe(204);
    });
  },
);

describe('conditional requests', () => {
  it('change a device that has connected since: presence does not count as a change', async () => {
    const { gateway, path, tag } = await made('device');
    const client = await gateway.connectDevice(path.split('/').at(-1) ?? '');
    const online = await gateway.admin('GET', path, { headers: { 'If-None-Match': tag } });
    expect([online.status, online.json]).toEqual([200, expect.objectContaining({ online: true })]);
    const options = { json: { name: 'Changed' }, headers: { 'If-Match': tag } };
    expect((await gateway.admin('PATCH', path, options)).status).toBe(200);
    await client.endAsync();
  });

  it('compare the part of a location that the caller’s grants cover', async () => {
    const gateway = running();
    const locationId = await gateway.createLocation();
    const deviceId = await gateway.createDevice(locationId);
    const { groupId } = await gateway.placeInGroup(locationId, deviceId);
    const token = await gateway.createToken([
      { location: locationId, group: groupId, role: 'viewer' },
    ]);
    const path = `/care-homes/${locationId}`;
    const covered = await gateway.call('GET', path, { token });
    await gateway.createDevice(locationId);
    const headers = { 'If-None-Match': tagOf(covered) };
    expect((await gateway.call('GET', path, { token, headers })).status).toBe(304);
    expect((await gateway.admin('GET', path, { headers })).status).toBe(200);
  });
});
