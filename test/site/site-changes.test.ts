import { afterAll, beforeAll, expect, it } from 'vitest';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Locations } from '../../src/site/locations.js';
import { Rooms } from '../../src/site/rooms.js';
import { RedisServer } from '../former/servers/redis-server.js';
import { SiteWorld } from '../store/site-world.js';

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.remove());

async function start() {
  const world = await SiteWorld.create(server);
  await world.changes.start();
  const { changes, model } = world;
  return { world, rooms: new Rooms(changes, model), locations: new Locations(changes, model) };
}

it('checks a change again when another gateway has changed the site', async () => {
  const { world, rooms } = await start();
  const { location, group, room } = world;
  await world.change(
    { kind: 'room', before: room, after: { ...room, groupId: null } },
    { kind: 'group', before: group, after: undefined },
  );
  const creation = rooms.create(GATEWAY_ACTOR, location.id, 'Süd', group.id);
  await expect(creation).rejects.toMatchObject({ code: 'group-not-found' });
  expect(world.model.group(group.id)).toBeUndefined();
  const { records } = await world.load();
  expect(records.rooms).toEqual([{ ...room, groupId: null }]);
  const created = await rooms.create(GATEWAY_ACTOR, location.id, 'Süd', null);
  expect((await world.load()).records.rooms).toContainEqual(created);
});

it('reads the site without a request if it could not do so after a change by another gateway', async () => {
  const { world, locations } = await start();
  const { location, model, redis } = world;
  await world.change({ kind: 'location', before: location, after: { ...location, name: 'B' } });
  await redis.acl('SETUSER', 'default', '-hgetall');
  const renaming = locations.rename(GATEWAY_ACTOR, location.id, 'C');
  await expect(renaming).rejects.toMatchObject({ code: 'store-unavailable' });
  await redis.acl('SETUSER', 'default', '+hgetall');
  await expect.poll(() => model.location(location.id)?.name).toBe('B');
});

it('does not read the site again after a write that the store refused', async () => {
  const { world, locations } = await start();
  const { location, redis } = world;
  const loads = async () => /cmdstat_hgetall:calls=\d+/.exec(await redis.info('commandstats'))?.[0];
  const before = await loads();
  await redis.config('SET', 'maxmemory', 1);
  const refused = locations.rename(GATEWAY_ACTOR, location.id, 'B');
  await expect(refused).rejects.toMatchObject({ code: 'store-unavailable' });
  await redis.config('SET', 'maxmemory', 0);
  expect(await locations.rename(GATEWAY_ACTOR, location.id, 'C')).toMatchObject({ name: 'C' });
  expect(await loads()).toBe(before);
});

it('detects that a store was emptied before it changes anything', async () => {
  const { world, locations } = await start();
  await world.redis.del(await world.redis.keys(`${world.keys.sitePrefix}*`));
  const renaming = locations.rename(GATEWAY_ACTOR, world.location.id, 'Haus am Meer');
  await expect(renaming).rejects.toMatchObject({ code: 'location-not-found' });
  expect(await world.redis.keys(`${world.keys.sitePrefix}*`)).toEqual([]);
});

it('does not write a change that was planned before another one', async () => {
  const { world } = await start();
  const { location, store, redis, keys } = world;
  const { revision } = await store.load();
  await world.change({ kind: 'location', before: location, after: { ...location, name: 'B' } });
  const late = { kind: 'location', before: location, after: { ...location, name: 'A' } } as const;
  const entry = {
    actor: GATEWAY_ACTOR,
    atMs: 1,
    locationId: null,
    resourceId: 'x',
    details: {},
    action: 'location.changed',
  } as const;
  const recorded = await redis.get(keys.auditSequence);
  expect(await store.change([late], entry, revision)).toBe(false);
  expect(await redis.hget(keys.siteRecords('location'), location.id)).toContain('"name":"B"');
  expect(await redis.get(keys.auditSequence)).toBe(recorded);
});
