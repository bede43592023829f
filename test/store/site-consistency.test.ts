import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { principalKey } from '../../src/domain/grants.js';
import type { AccessToken, Device } from '../../src/domain/site.js';
import { GATEWAY_ACTOR } from '../../src/site/audit-trail.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import { Operations } from '../../src/site/operations.js';
import { InvalidPublishStoreRedis } from '../../src/store/lists.js';
import { PresenceStoreRedis } from '../../src/store/site/kept.js';
import { Store } from '../../src/store/store.js';
import { faultTexts } from '../harness/described/fault-texts.js';
import { RedisProgram } from '../harness/redis.js';
import { SiteWorld } from './site-world.js';

let server: RedisProgram;

beforeAll(async () => {
  server = await RedisProgram.start();
});

afterAll(() => server.remove());

it('finds nothing wrong when the store is intact', async () => {
  const world = await SiteWorld.create(server);
  expect(await world.load()).toEqual({ records: world.records, unreadable: [] });
});

it('keeps custom data as written, and unusual values in other fields', async () => {
  const world = await SiteWorld.create(server);
  const customData =
    '{"z":1.10,"a": 12345678901234567890,"__proto__":{"b":"\\ud800\\u0000"},"ü\\"\\\\":[]}';
  const device: Device = {
    ...world.placed,
    name: 'Bett "neu" \\ \u0001 🛏',
    customData,
  };
  const token: AccessToken = { ...world.token, expiresAtMs: 7 };
  await world.change(
    { kind: 'device', before: world.placed, after: device },
    { kind: 'access-token', before: world.token, after: token },
  );
  expect(await world.load()).toEqual({
    records: { ...world.records, device: [world.device, device], 'access-token': [token] },
    unreadable: [],
  });
});

it('reads the site when the store refuses to write', async () => {
  const world = await SiteWorld.create(server);
  await world.redis.config('SET', 'min-replicas-to-write', '1');
  try {
    expect(await world.load()).toEqual({ records: world.records, unreadable: [] });
  } finally {
    await world.redis.config('SET', 'min-replicas-to-write', '0');
  }
});

it('refuses a kind whose records were overwritten, and does not change it', async () => {
  const world = await SiteWorld.create(server);
  const { redis, keys, device, location } = world;
  await world.changes.start();
  await redis.set(keys.siteRecords('device'), 'x');
  await expect(world.load()).rejects.toMatchObject({
    code: 'store-unavailable',
    detail: `The key ${keys.siteRecords('device')} of the store is not a hash of records: restore a backup, or delete the key.`,
  });
  const counters = [`${keys.sitePrefix}sequence:audit`, keys.siteRevision];
  const before = await redis.mget(counters);
  const renaming = new Operations(world.changes, world.model, () => 1).changeDevice(
    GATEWAY_ACTOR,
    { locationId: location.id, deviceId: device.id },
    { name: 'Bett 2' },
  );
  await expect(renaming).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(await redis.mget(counters)).toEqual(before);
});

describe('ignores only unusable records', () => {
  it.each([
    ['location', 'name', 7],
    ['group', 'locationId', undefined],
    ['room', 'groupId', undefined],
    ['device', 'order', 'fourth'],
    ['device', 'createdAtMs', null],
    ['device', 'secretHash', undefined],
    ['device', 'customData', '[1]'],
    ['device', 'customData', '{"bed":'],
    ['device', 'id', 'another'],
    ['access-token', 'grants', [{ location: '*', role: 'emperor' }]],
    ['access-token', 'grants', 'x'],
    ['access-token', 'expiresAtMs', 'tomorrow'],
  ] as const)('reports a %s when its %s is %j', async (kind, field, value) => {
    const world = await SiteWorld.create(server);
    const { id } = world.recordOf(kind);
    await world.rewrite(kind, id, { [field]: value });
    const { records, unreadable } = await world.load();
    expect(unreadable).toEqual([`${kind === 'access-token' ? 'token' : kind}:${id}`]);
    const isKept = ({ id: kept }: { readonly id: string }) => kept !== id;
    expect(records.device.map((one) => one.id)).toEqual(
      world.records.device.filter(isKept).map((one) => one.id),
    );
  });

  it('reports records that are not JSON, or not objects', async () => {
    const world = await SiteWorld.create(server);
    const { device, placed } = world;
    await world.redis.hset(world.keys.siteRecords('device'), device.id, '{', placed.id, '"x"');
    const { records, unreadable } = await world.load();
    expect(records.device).toEqual([]);
    expect(unreadable.toSorted()).toEqual([`device:${device.id}`, `device:${placed.id}`].sort());
  });

  it('ignores what an earlier version noted with devices and tokens', async () => {
    const world = await SiteWorld.create(server);
    await world.rewrite('device', world.device.id, { limits: { messagesPerSecond: 0 } });
    await world.rewrite('access-token', world.token.id, { isExpiryNoted: true });
    expect(await world.load()).toEqual({ records: world.records, unreadable: [] });
  });

  it('accepts a new device in place of an unreadable one', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, device } = world;
    await redis.hset(keys.siteRecords('device'), device.id, 'x');
    await world.change({ kind: 'device', before: undefined, after: device });
    expect(await world.load()).toEqual({ records: world.records, unreadable: [] });
  });

  it('serves a device without its room, group or location', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, location, group, room, placed } = world;
    const shown = async () => {
      await world.changes.start();
      const context = world.model.context(placed.id);
      return [context?.location.name, context?.group?.name, context?.room?.name];
    };
    expect(await shown()).toEqual([location.name, group.name, room.name]);
    await redis.hset(keys.siteRecords('group'), group.id, 'x');
    expect(await shown()).toEqual([location.name, undefined, room.name]);
    await redis.hset(keys.siteRecords('room'), room.id, 'x');
    expect(await shown()).toEqual([location.name, undefined, undefined]);
    await redis.hset(keys.siteRecords('location'), location.id, 'x');
    expect(await shown()).toEqual([location.id, undefined, undefined]);
  });
});

it('reports how many records are unreadable, and logs their ids', async () => {
  const world = await SiteWorld.create(server);
  const { redis, keys, device, room } = world;
  await redis.hset(keys.siteRecords('device'), device.id, 'x');
  await redis.hset(keys.siteRecords('room'), room.id, 'x');
  await world.changes.start();
  const message = 'The store holds unreadable records of the site (2): they are left out.';
  expect(faultTexts(world.health.shown())).toEqual([message]);
  expect(JSON.parse(world.logged.join())).toMatchObject({
    msg: 'stored site is inconsistent',
    ids: [`room:${room.id}`, `device:${device.id}`],
    count: 2,
  });
  await world.redis.hdel(keys.siteRecords('device'), device.id);
  await world.redis.hdel(keys.siteRecords('room'), room.id);
  await world.changes.start();
  expect(world.health.shown()).toEqual([]);
});

it('ends only a credential when its record turns out unreadable', async () => {
  const world = await SiteWorld.create(server);
  const { redis, keys, device, token, changes } = world;
  const devices = keys.siteRecords('device');
  await world.changes.start();
  const ended: string[] = [];
  const removed: string[] = [];
  changes.on('credentialEnded', (principal) => ended.push(principal));
  changes.on('principalRemoved', (principal) => removed.push(principal));
  await world.rewrite('access-token', token.id, { grants: 'x' });
  await redis.hset(devices, device.id, 'x');
  await world.changes.start();
  const principals = [`device:${device.id}`, principalKey({ type: 'token', ...token })];
  expect(ended).toEqual(principals);
  expect(removed).toEqual([]);
  expect(principals.map((principal) => world.model.isUnreadable(principal))).toEqual([true, true]);
  await redis.hdel(devices, device.id);
  await world.changes.start();
  expect(world.model.isUnreadable(`device:${device.id}`)).toBe(false);
});

it('announces changes that a reload finds', async () => {
  const world = await SiteWorld.create(server);
  await world.changes.start();
  const changed: string[] = [];
  world.changes.on('deviceChanged', (id) => changed.push(id));
  await world.rewrite('room', world.room.id, { name: 'Süd' });
  await world.changes.start();
  expect(changed).toEqual([world.placed.id]);
});

describe('data of deleted locations and devices', () => {
  const invalidPublish = {
    reason: 'not-json' as const,
    topic: 't',
    payload: Buffer.from('x'),
    receivedAtMs: 1,
  };
  it('is not created when a location or device has just been deleted', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, location, device, placed } = world;
    const invalidPublishes = new InvalidPublishStoreRedis({
      store: new Store(redis, keys.sitePrefix),
      management: new Store(redis, keys.sitePrefix),
      keys,
      maxPerLocation: 2,
      headroom: new StoreHeadroom(),
    });
    const presence = new PresenceStoreRedis(new Store(redis, keys.sitePrefix), keys);
    const listed = (receivedAtMs: number) => {
      return {
        deviceId: device.id,
        groupId: null,
        invalidPublish: { ...invalidPublish, receivedAtMs },
      };
    };
    await invalidPublishes.add(location.id, [listed(1)]);
    await invalidPublishes.add(location.id, [listed(2), listed(3)]);
    const kept = await invalidPublishes.list(location.id);
    expect(kept.map(({ receivedAtMs }) => receivedAtMs)).toEqual([3, 2]);
    const offline = {
      deviceId: device.id,
      lastSeenAtMs: 5,
      online: false,
      heardAtMs: 7,
      hubId: undefined,
    };
    await presence.save([offline, { ...offline, online: true }]);
    expect(await redis.hgetall(keys.lastSeen)).toEqual({ [device.id]: '5+ 7' });
    await world.change(
      { kind: 'device', before: device, after: undefined },
      { kind: 'device', before: placed, after: undefined },
      { kind: 'location', before: location, after: undefined },
    );
    await invalidPublishes.add(location.id, [listed(4)]);
    expect(await redis.exists(keys.rejected(location.id), keys.lastSeen)).toBe(0);
  });
});
