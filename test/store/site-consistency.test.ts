import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { principalKey } from '../../src/domain/grants.js';
import { newId } from '../../src/domain/notation.js';
import { createLog } from '../../src/logging/log.js';
import { StoreHeadroom } from '../../src/site/store-headroom.js';
import { CarryOver } from '../../src/store/carry-over.js';
import { InvalidPublishStoreRedis } from '../../src/store/invalid-publish-store-redis.js';
import { PresenceStoreRedis } from '../../src/store/presence-store-redis.js';
import { guardWrites } from '../../src/store/write-guard.js';
import { faultTexts } from '../harness/fault-texts.js';
import { RedisServer } from '../harness/redis-server.js';
import { SiteWorld } from './site-world.js';

const log = createLog({ level: 'silent', destination: { write: () => undefined } });
let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.remove());

it('finds nothing wrong when the store is intact', async () => {
  const world = await SiteWorld.create(server);
  expect(await world.load()).toEqual({ records: world.records, findings: [] });
});

describe('repairs', () => {
  it.each(['missing', 'not sets'])('restores the sets of ids when these are %s', async (how) => {
    const world = await SiteWorld.create(server);
    const { keys, redis } = world;
    const lists = [
      keys.idsOf('location'),
      keys.idsOf('group'),
      keys.idsOf('room'),
      keys.idsOf('device'),
      keys.idsOf('access-token'),
    ];
    await redis.del(...lists);
    if (how === 'not sets') for (const list of lists) await redis.set(list, 'x');
    const { records, findings } = await world.load();
    expect(records).toEqual(world.records);
    expect(findings.map(({ problem, kind, ids }) => [problem, kind, ids.length])).toEqual([
      ['list-repaired', 'location', 1],
      ['list-repaired', 'group', 1],
      ['list-repaired', 'room', 1],
      ['list-repaired', 'device', 2],
      ['list-repaired', 'access-token', 1],
    ]);
    expect(await redis.scard(keys.idsOf('device'))).toBe(2);
    expect(await world.load()).toEqual({ records: world.records, findings: [] });
  });

  it('restores thousands of ids under a lease', async () => {
    const world = await SiteWorld.create(server);
    const { keys, redis } = world;
    const more = Array.from({ length: 7_000 }, () => ({ ...world.device, id: newId() }));
    await world.change(
      ...more.map((after) => ({ kind: 'device', before: undefined, after }) as const),
    );
    await redis.del(keys.idsOf('device'));
    await redis.hset(keys.lease, 'token', '1 box');
    guardWrites(redis, { fence: { key: keys.lease, token: '1 box' } });
    const { records, findings } = await world.load();
    expect(records.devices).toHaveLength(7_002);
    expect(findings.map(({ problem, ids }) => [problem, ids.length])).toEqual([
      ['list-repaired', 7_002],
    ]);
    expect(await redis.scard(keys.idsOf('device'))).toBe(7_002);
  });

  it('restores a single id that a set lacks', async () => {
    const world = await SiteWorld.create(server);
    await world.redis.srem(world.keys.idsOf('device'), world.device.id);
    const { records, findings } = await world.load();
    expect(records).toEqual(world.records);
    expect(findings).toEqual([
      { problem: 'list-repaired', kind: 'device', ids: [world.device.id] },
    ]);
  });

  it('removes the sets of members that version 1 kept', async () => {
    const world = await SiteWorld.create(server);
    const { keys, redis, location, group, room, device } = world;
    const sets = [
      ...[`location-devices:${location.id}`, `location-rooms:${location.id}`],
      ...[`location-groups:${location.id}`, `group-rooms:${group.id}`, `room-devices:${room.id}`],
    ].map((name) => keys.sitePrefix + name);
    for (const set of sets) await redis.sadd(set, device.id);
    await new CarryOver(redis, keys, log).run();
    expect(await redis.exists(...sets)).toBe(0);
    expect(await world.load()).toEqual({ records: world.records, findings: [] });
  });

  it('reads the site when the store refuses to write', async () => {
    const world = await SiteWorld.create(server);
    const { keys, redis } = world;
    await redis.del(keys.idsOf('device'));
    await redis.config('SET', 'min-replicas-to-write', '1');
    try {
      const { records, findings } = await world.load();
      expect(records).toEqual(world.records);
      expect(findings).toMatchObject([{ problem: 'list-incomplete', kind: 'device' }]);
    } finally {
      await redis.config('SET', 'min-replicas-to-write', '0');
    }
  });
});

describe('leaves out only unusable records', () => {
  it('names an id that has no record', async () => {
    const world = await SiteWorld.create(server);
    await world.redis.del(world.keys.record('device', world.device.id));
    const { records, findings } = await world.load();
    expect(records).toEqual({ ...world.records, devices: [world.placed] });
    expect(findings).toEqual([
      { problem: 'record-missing', kind: 'device', ids: [world.device.id] },
    ]);
  });

  it.each([
    ['order', 'fourth'],
    ['createdAtMs', ''],
    ['customData', '[1]'],
    ['customData', '{"bed":'],
  ])('names a device when its %s is %j', async (field, value) => {
    const world = await SiteWorld.create(server);
    await world.redis.hset(world.keys.record('device', world.device.id), field, value);
    const { records, findings } = await world.load();
    expect(records.devices).toEqual([world.placed]);
    expect(findings).toEqual([
      { problem: 'record-unreadable', kind: 'device', ids: [world.device.id] },
    ]);
  });

  it('names a device when its secret is gone, or its record is no hash', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, device, placed } = world;
    await redis.hdel(keys.record('device', device.id), 'secretHash');
    await redis.set(keys.record('device', placed.id), 'x');
    const { records, findings } = await world.load();
    expect(records.devices).toEqual([]);
    expect(findings).toHaveLength(1);
    expect(findings[0]?.ids.toSorted()).toEqual([device.id, placed.id].sort());
  });

  it.each([
    ['grants', '[{"location":"*","role":"emperor"}]'],
    ['grants', 'not JSON'],
    ['expiresAtMs', 'tomorrow'],
  ])('names a token when its %s is %j', async (field, value) => {
    const world = await SiteWorld.create(server);
    await world.redis.hset(world.keys.record('access-token', world.token.id), field, value);
    const { records, findings } = await world.load();
    expect(records).toEqual({ ...world.records, accessTokens: [] });
    expect(findings).toEqual([
      { problem: 'record-unreadable', kind: 'access-token', ids: [world.token.id] },
    ]);
  });

  it('takes a new device in the place of an unreadable one', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, device, placed } = world;
    await redis.set(keys.record('device', device.id), 'x');
    await world.change({ kind: 'device', before: undefined, after: device });
    expect(await world.load()).toEqual({ records: world.records, findings: [] });
    await redis.hdel(keys.record('device', placed.id), 'secretHash');
    await world.change({ kind: 'device', before: undefined, after: placed });
    expect(await world.load()).toEqual({ records: world.records, findings: [] });
  });

  it('serves the devices of a lost location under its id', async () => {
    const world = await SiteWorld.create(server);
    const { location, device } = world;
    await world.redis.del(world.keys.record('location', location.id));
    await world.changes.start();
    expect(world.model.context(device.id)?.location).toMatchObject({
      id: location.id,
      name: location.id,
    });
    expect((await world.load()).findings).toEqual([
      { problem: 'location-lost', kind: 'location', ids: [location.id] },
    ]);
  });

  it('serves a device without its lost room, and a room without its lost group', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, group, room, placed } = world;
    await redis.del(keys.record('group', group.id));
    const { records, findings } = await world.load();
    expect(records.rooms).toEqual([{ ...room, groupId: null }]);
    expect(findings).toEqual([
      { problem: 'record-missing', kind: 'group', ids: [group.id] },
      { problem: 'group-lost', kind: 'room', ids: [room.id] },
    ]);
    await redis.del(keys.record('room', room.id));
    expect((await world.load()).records.devices).toContainEqual({ ...placed, roomId: null });
  });
});

describe('faults', () => {
  it('stay while a record is unreadable, and end with the start after it was restored', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, device, placed, health } = world;
    const customData = async (text: string) => {
      for (const { id } of [device, placed])
        await redis.hset(keys.record('device', id), 'customData', text);
    };
    await customData('x');
    await world.changes.start();
    health.started();
    const unreadable = [device, placed].map(({ id }) => {
      return `The store holds an unreadable record of 1 device, left out: device ${id}`;
    });
    expect(faultTexts(health.faults()).toSorted()).toEqual(unreadable.toSorted());
    expect(health.ready()).toBe(true);
    expect(world.logged.filter((line) => line.includes('"level":50'))).toHaveLength(1);
    await customData('{}');
    await world.changes.start();
    expect(faultTexts(health.faults())).toEqual([]);
    expect(world.model.device(device.id)?.customData).toBe('{}');
  });

  it('name three ids and the number of others', async () => {
    const world = await SiteWorld.create(server);
    const ids = Array.from({ length: 5 }, () => newId());
    await world.redis.sadd(world.keys.idsOf('device'), ...ids);
    await world.changes.start();
    expect(faultTexts(world.health.faults())).toEqual([
      ...ids.slice(0, 3).map(() => {
        return expect.stringMatching(
          /^The store lists 1 device without a record.*: device \S{36}$/,
        );
      }),
      'The store lists 2 more devices without a record, left out.',
    ]);
  });

  it('about repairs stay as long as the process runs', async () => {
    const world = await SiteWorld.create(server);
    const missing = newId();
    await world.redis.sadd(world.keys.idsOf('room'), missing);
    await world.redis.del(world.keys.idsOf('device'));
    await world.changes.start();
    expect(faultTexts(world.health.faults())).toHaveLength(3);
    await world.redis.srem(world.keys.idsOf('room'), missing);
    await world.changes.start();
    expect(faultTexts(world.health.faults())).toHaveLength(2);
    expect(faultTexts(world.health.faults())[0]).toMatch(
      /^The store's list of devices lacked 1 device, put/,
    );
  });
});

it('ends a credential, but nothing else, when a record turns out unreadable', async () => {
  const world = await SiteWorld.create(server);
  const { redis, keys, device, token, events } = world;
  await world.changes.start();
  const ended: string[] = [];
  const removed: string[] = [];
  events.on('credentialEnded', (principal) => ended.push(principal));
  events.on('principalRemoved', (principal) => removed.push(principal));
  await redis.hset(keys.record('access-token', token.id), 'grants', 'x');
  await redis.del(keys.record('device', device.id));
  await world.changes.start();
  const principals = [`device:${device.id}`, principalKey({ type: 'token', ...token })];
  expect(ended).toEqual(principals);
  expect(removed).toEqual([]);
  expect(principals.map((principal) => world.model.isUnreadable(principal))).toEqual([true, true]);
  await redis.srem(keys.idsOf('device'), device.id);
  await world.changes.start();
  expect(world.model.isUnreadable(`device:${device.id}`)).toBe(false);
});

it('announces changes that a reload finds', async () => {
  const world = await SiteWorld.create(server);
  await world.changes.start();
  const changed: string[] = [];
  world.events.on('deviceChanged', (id) => changed.push(id));
  await world.redis.hset(world.keys.record('room', world.room.id), 'name', 'Süd');
  await world.changes.start();
  expect(changed).toEqual([world.placed.id]);
});

describe('what belongs to the deleted goes with them', () => {
  const invalidPublish = {
    reason: 'not-json' as const,
    topic: 't',
    payload: Buffer.from('x'),
    receivedAtMs: 1,
  };
  it('are removed when version 1 left them, and nothing else is', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, location, device } = world;
    const [gone, lost] = [newId(), newId()];
    await redis.sadd(keys.idsOf('location'), lost);
    for (const id of [location.id, gone, lost]) await redis.lpush(keys.rejected(id), '{}');
    await redis.hset(keys.lastSeen, { [device.id]: '1', [gone]: '2+' });
    await new CarryOver(redis, keys, log).run();
    expect(await redis.exists(keys.rejected(gone))).toBe(0);
    expect(await redis.exists(keys.rejected(location.id), keys.rejected(lost))).toBe(2);
    expect(await redis.hgetall(keys.lastSeen)).toEqual({ [device.id]: '1' });
  });

  it('do not arise when a location or device has just been deleted', async () => {
    const world = await SiteWorld.create(server);
    const { redis, keys, location, device, placed } = world;
    const invalidPublishes = new InvalidPublishStoreRedis({
      ...{ redis, management: redis, keys, maxPerLocation: 2 },
      headroom: new StoreHeadroom(),
    });
    const presence = new PresenceStoreRedis(redis, keys);
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
    const offline = { deviceId: device.id, lastSeenAtMs: 5, online: false };
    await presence.save([offline, { ...offline, online: true }]);
    expect(await redis.hgetall(keys.lastSeen)).toEqual({ [device.id]: '5+' });
    await world.change(
      { kind: 'device', before: device, after: undefined },
      { kind: 'device', before: placed, after: undefined },
      { kind: 'location', before: location, after: undefined },
    );
    await invalidPublishes.add(location.id, [listed(4)]);
    await presence.save([offline]);
    expect(await redis.exists(keys.rejected(location.id), keys.lastSeen)).toBe(0);
  });
});
