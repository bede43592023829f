import { describe, expect, it } from 'vitest';
import { useRedis } from '../../former/servers/shared-redis.js';
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

describe.each(RESOURCES)('conditional requests: %s', (resource) => {
  it('is not changed by a client that wants none of its states', async () => {
    const { gateway, path, first, tag } = await made(resource);
    const change = (unwanted: string) =>
      gateway.admin('PATCH', path, {
        json: { name: 'Changed' },
        headers: { 'If-None-Match': unwanted },
      });
    for (const unwanted of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      expect(failure(await change(unwanted)), unwanted).toBe('412 precondition-failed');
    }
    if (resource !== 'custom data') {
      const headers = { 'If-None-Match': '*' };
      expect(failure(await gateway.admin('DELETE', path, { headers }))).toBe(
        '412 precondition-failed',
      );
    }
    expect((await gateway.admin('GET', path)).text).toBe(first.text);
    expect((await change('"other"')).status).toBe(200);
  });
});

describe('conditional moves and secrets', () => {
  async function device() {
    const { gateway, path, tag } = await made('device');
    const [, , locationId = ''] = path.split('/');
    const roomId = await gateway.createRoom(locationId);
    return { gateway, path, tag, locationId, roomId };
  }

  it.each([
    ['a device into a room', (path: string, roomId: string) => [path, { targetRoomId: roomId }]],
    ['a device out of its room', (path: string) => [path, { targetRoomId: null }]],
    [
      'a device to where it is',
      (path: string) => [path, { targetLocationId: path.split('/').at(2) }],
    ],
  ] as const)('move %s only from the state that the client has seen', async (_, moved) => {
    const { gateway, path, tag, roomId } = await device();
    const [, json] = moved(path, roomId);
    const move = (headers: Record<string, string>) =>
      gateway.admin('POST', `${path}/move`, { json, headers });
    expect(failure(await move({ 'If-Match': '"other"' }))).toBe('412 precondition-failed');
    expect(failure(await move({ 'If-None-Match': tag }))).toBe('412 precondition-failed');
    expect((await move({ 'If-Match': tag })).status).toBe(204);
  });

  it('move a device to another location, and a room to another group, likewise', async () => {
    const { gateway, path, tag, locationId } = await device();
    const [from, to] = [
      await gateway.createGroup(locationId),
      await gateway.createGroup(locationId),
    ];
    const roomId = await gateway.createRoom(locationId, from);
    const room = `/care-homes/${locationId}/rooms/${roomId}`;
    const roomTag = tagOf(await gateway.admin('GET', room));
    const moveRoom = (seen: string) =>
      gateway.admin('POST', `/care-homes/${locationId}/groups/${from}/rooms/${roomId}/move`, {
        json: { targetGroupId: to },
        headers: { 'If-Match': seen },
      });
    expect(failure(await moveRoom('"other"'))).toBe('412 precondition-failed');
    expect((await moveRoom(roomTag)).status).toBe(204);
    const json = { targetLocationId: await gateway.createLocation() };
    const moveDevice = (seen: string) =>
      gateway.admin('POST', `${path}/move`, { json, headers: { 'If-Match': seen } });
    expect(failure(await moveDevice('"other"'))).toBe('412 precondition-failed');
    expect((await moveDevice(tag)).status).toBe(204);
  });

  it('replace a secret once, although two technicians ask for it', async () => {
    const { gateway, path, tag } = await device();
    const replace = (seen: string) =>
      gateway.admin('POST', `${path}/secret`, { headers: { 'If-Match': seen } });
    expect(failure(await replace('"other"'))).toBe('412 precondition-failed');
    expect((await replace(tag)).status).toBe(200);
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
