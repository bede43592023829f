import { principalKey } from '../../src/domain/grants.js';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { Operations } from '../../src/site/operations.js';
import { expect, test } from '../harness/index.js';
import type { RedisProgram } from '../harness/redis.js';
import { SiteWorld } from '../store/site-world.js';

async function start(redis: RedisProgram) {
  const world = await SiteWorld.create(redis);
  await world.changes.start();
  const operations = new Operations(world.changes, world.model, () => 1);
  return { world, operations };
}

test('checks a change again when another gateway has changed the site', async ({
  redis: server,
}) => {
  const { world, operations } = await start(server);
  const { location, group, room } = world;
  await world.change(
    { kind: 'room', before: room, after: { ...room, groupId: null } },
    { kind: 'group', before: group, after: undefined },
  );
  const creation = operations.createRoom(GATEWAY_ACTOR, location.id, 'Süd', group.id);
  await expect(creation).rejects.toMatchObject({ code: 'group-not-found' });
  expect(world.model.group(group.id)).toBeUndefined();
  const { records } = await world.load();
  expect(records.room).toEqual([{ ...room, groupId: null }]);
  const created = await operations.createRoom(GATEWAY_ACTOR, location.id, 'Süd', null);
  expect((await world.load()).records.room).toContainEqual(created);
});

test('reads the site without a request if it could not do so after a change by another gateway', async ({
  redis: server,
}) => {
  const { world, operations } = await start(server);
  const { location, model, redis } = world;
  await world.change({ kind: 'location', before: location, after: { ...location, name: 'B' } });
  await redis.acl('SETUSER', 'default', '-hgetall');
  const renaming = operations.renameLocation(GATEWAY_ACTOR, location.id, 'C');
  await expect(renaming).rejects.toMatchObject({ code: 'store-unavailable' });
  await redis.acl('SETUSER', 'default', '+hgetall');
  await expect.poll(() => model.location(location.id)?.name).toBe('B');
});

test('does not read the site again after a write that the store refused', async ({
  redis: server,
}) => {
  const { world, operations } = await start(server);
  const { location, redis } = world;
  const loads = async () => /cmdstat_hgetall:calls=\d+/.exec(await redis.info('commandstats'))?.[0];
  const before = await loads();
  await redis.config('SET', 'maxmemory', 1);
  const refused = operations.renameLocation(GATEWAY_ACTOR, location.id, 'B');
  await expect(refused).rejects.toMatchObject({ code: 'store-unavailable' });
  await redis.config('SET', 'maxmemory', 0);
  expect(await operations.renameLocation(GATEWAY_ACTOR, location.id, 'C')).toMatchObject({
    name: 'C',
  });
  expect(await loads()).toBe(before);
});

test('detects that a store was emptied before it changes anything', async ({ redis: server }) => {
  const { world, operations } = await start(server);
  await world.redis.del(await world.redis.keys(`${world.keys.sitePrefix}*`));
  const renaming = operations.renameLocation(GATEWAY_ACTOR, world.location.id, 'Haus am Meer');
  await expect(renaming).rejects.toMatchObject({ code: 'location-not-found' });
  expect(await world.redis.keys(`${world.keys.sitePrefix}*`)).toEqual([]);
});

test('does not write a change that was planned before another one', async ({ redis: server }) => {
  const { world } = await start(server);
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
  const recorded = await redis.get(`${keys.sitePrefix}sequence:audit`);
  expect(await store.change([late], entry, revision)).toBe(false);
  expect(await redis.hget(keys.siteRecords('location'), location.id)).toContain('"name":"B"');
  expect(await redis.get(`${keys.sitePrefix}sequence:audit`)).toBe(recorded);
});

test('a listener that throws neither fails a stored change nor keeps others from an ended credential', async ({
  redis: server,
}) => {
  const { world, operations } = await start(server);
  const { changes, location, device, logged } = world;
  const ended: string[] = [];
  changes.on('deviceDeleted', () => {
    throw new Error('no room');
  });
  changes.on('credentialEnded', () => {
    throw new Error('no room');
  });
  changes.on('credentialEnded', (principal) => ended.push(principal));
  await operations.deleteDevice(GATEWAY_ACTOR, { locationId: location.id, deviceId: device.id });
  expect(ended).toEqual([principalKey({ type: 'device', id: device.id })]);
  expect(logged.filter((line) => line.includes('failed to act on a change'))).toHaveLength(2);
  expect((await world.load()).records.device).toEqual([world.placed]);
});
