import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useRedis } from '../../former/servers/shared-redis.js';
import { failure } from '../client.js';
import { useGateway } from '../harness.js';

const redis = useRedis();
const running = useGateway(redis);
const shown = z.looseObject({ id: z.string() });

const publicUrl = 'https://proxy.example/gateway';
const proxied = useGateway(redis, { environment: { GATEWAY_HTTP_PUBLIC_URL: `${publicUrl}/` } });

async function start(gateway = running()) {
  const locationId = await gateway.createLocation();
  return { gateway, locationId, path: `/care-homes/${locationId}` };
}

const COLLECTIONS: readonly [what: string, path: string][] = [
  ['a location', ''],
  ['a room', '/rooms'],
  ['a group', '/groups'],
  ['a device', '/devices'],
];

describe.each(COLLECTIONS)('creating %s', (_what, rest) => {
  it('returns its location, which answers with it', async () => {
    const { gateway, path } = await start();
    const collection = rest === '' ? '/care-homes' : `${path}${rest}`;
    const created = await gateway.admin('POST', collection, { json: { name: 'Nord' } });
    const { id } = shown.parse(created.json);
    expect([created.status, created.headers.location]).toEqual([201, `${collection}/${id}`]);
    const found = await gateway.admin('GET', created.headers.location ?? '');
    const { secret: _secret, ...expected } = shown.parse(created.json);
    expect([found.status, found.json]).toEqual([200, expected]);
  });

  it('returns its location behind a proxy that adds a path', async () => {
    const { gateway, path } = await start(proxied());
    const collection = rest === '' ? '/care-homes' : `${path}${rest}`;
    const { headers, json } = await gateway.admin('POST', collection, { json: { name: 'Nord' } });
    expect(headers.location).toBe(`${publicUrl}${collection}/${shown.parse(json).id}`);
  });
});

it('shows one location with its covered devices only, and one room and group with their contents', async () => {
  const { gateway, locationId, path } = await start();
  const groupId = await gateway.createGroup(locationId);
  const roomId = await gateway.createRoom(locationId, groupId);
  const [inside] = [await gateway.createDevice(locationId), await gateway.createDevice(locationId)];
  await gateway.moveDevice(locationId, inside, { targetRoomId: roomId });
  const token = await gateway.createToken([
    { location: locationId, group: groupId, role: 'viewer' },
  ]);
  const get = async (rest: string) => (await gateway.call('GET', `${path}${rest}`, { token })).json;
  expect(await get('')).toMatchObject({ id: locationId, devices: [inside] });
  expect(await get(`/rooms/${roomId}`)).toMatchObject({ id: roomId, groupId, devices: [inside] });
  expect(await get(`/groups/${groupId}`)).toMatchObject({ id: groupId, rooms: [roomId] });
});

it('answers 404 for a missing resource to authorized callers, and 403 to others', async () => {
  const { gateway, locationId, path } = await start();
  const elsewhere = await gateway.createLocation();
  const token = await gateway.createToken([{ location: locationId, role: 'viewer' }]);
  const absent = '00000000-0000-4000-8000-000000000000';
  const of = async (target: string) => failure(await gateway.call('GET', target, { token }));
  expect(await of(`${path}/rooms/${absent}`)).toBe('404 room-not-found');
  expect(await of(`${path}/groups/${absent}`)).toBe('404 group-not-found');
  expect(await of(`/care-homes/${elsewhere}`)).toBe('403 forbidden');
  expect(failure(await gateway.admin('GET', `/care-homes/${absent}`))).toBe(
    '404 location-not-found',
  );
});
