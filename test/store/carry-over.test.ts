import { pino } from 'pino';
import { expect, it } from 'vitest';
import { newId } from '../../src/domain/notation.js';
import { readPlace } from '../../src/store/alarm-records.js';
import { AlarmRetention } from '../../src/store/alarm-retention.js';
import { CarryOver } from '../../src/store/carry-over.js';
import { SessionStoreRedis } from '../../src/store/session-store-redis.js';
import { useRedis } from '../harness/shared-redis.js';
import { AlarmWorld, type Where } from './alarm-world.js';

const place = useRedis();
const START_MS = Date.UTC(2026, 0, 1);
const log = pino({ level: 'silent' });

function carryOver({ redis, keys }: AlarmWorld): Promise<void> {
  return new CarryOver(redis, keys, log).run();
}

function record(world: AlarmWorld, at: number, where: Where) {
  return world.record({ kind: 'fall', id: newId() }, START_MS + at, where);
}

/** Converts places back to the form of version 1. */
async function downgrade(world: AlarmWorld, count = Number.POSITIVE_INFINITY): Promise<void> {
  const { redis, keys } = world;
  const places = (await redis.keys(`${keys.alarmPlacePrefix}*`)).slice(0, count);
  for (const key of places) {
    const present = readPlace((await redis.hget(key, 't')) ?? '');
    if (present === undefined) throw new Error('There is no place');
    const { location, device, room, group, customData } = present;
    const ids = [location.id, device.id, room?.id ?? '', group?.id ?? ''];
    await redis.hset(key, 't', JSON.stringify([...ids, customData]));
    await redis.hdel(key, 'l', 'd', 'g');
  }
  await redis.del(keys.layout);
}

async function placesOf({ redis, keys }: AlarmWorld) {
  const places = (await redis.keys(`${keys.alarmPlacePrefix}*`)).sort();
  return Promise.all(places.map((key) => redis.hgetall(key)));
}

it('gives the places of version 1 the names that the site has now', async () => {
  const world = new AlarmWorld(place);
  const { redis, keys, deviceId, locationId } = world;
  const [roomId, groupId] = [newId(), newId()];
  const customData = '{"ref": 1.10,"phone":9007199254740993}';
  await record(world, 1, { roomId, groupId, customData });
  await record(world, 2, {});
  await downgrade(world);
  await redis.hset(keys.record('device', deviceId), { name: 'Bett "neu"' });
  await redis.hset(keys.record('location', locationId), { name: 'Haus am See' });
  await redis.hset(keys.record('room', roomId), { name: 'Zimmer 7' });
  await redis.hset(keys.record('group', groupId), { name: 'Süd' });

  await carryOver(world);
  const common = {
    device: { id: deviceId, name: 'Bett "neu"' },
    location: { id: locationId, name: 'Haus am See' },
  };
  expect((await world.page()).alarms).toMatchObject([
    {
      ...{ ...common, customData },
      ...{ room: { id: roomId, name: 'Zimmer 7' }, group: { id: groupId, name: 'Süd' } },
    },
    { ...common, room: null, group: null, customData: '{}' },
  ]);
  const texts = (await world.logs.read('alarms', 0, 2)).map(({ payload }) => payload.toString());
  expect(texts[0]).toContain(
    `"device":{"id":"${deviceId}","name":"Bett \\"neu\\""},` +
      `"location":{"id":"${locationId}","name":"Haus am See"},` +
      `"room":{"id":"${roomId}","name":"Zimmer 7"},"group":{"id":"${groupId}","name":"Süd"},` +
      `"customData":${customData},`,
  );
  expect(await redis.get(keys.layout)).toBe('5');
});

it('uses the id as the name of a room or device that is gone', async () => {
  const world = new AlarmWorld(place);
  const { deviceId, locationId } = world;
  const [roomId, groupId] = [newId(), newId()];
  await record(world, 1, { roomId, groupId });
  await downgrade(world);
  await carryOver(world);
  expect((await world.page()).alarms).toMatchObject([
    {
      ...{ device: { id: deviceId, name: deviceId }, room: { id: roomId, name: roomId } },
      ...{ location: { id: locationId, name: locationId }, group: { id: groupId, name: groupId } },
    },
  ]);
});

it('leaves nothing behind when the converted alarms have expired', async () => {
  const world = new AlarmWorld(place);
  const where = { roomId: newId(), groupId: newId() };
  for (const at of [1, 2]) await record(world, at, where);
  await downgrade(world);
  await carryOver(world);
  // This version writes the same place again.
  await record(world, 3, where);
  const { redis, keys } = world;
  const unackedFrom = () => Number.POSITIVE_INFINITY;
  const now = () => START_MS + 4;
  const retention = new AlarmRetention({ redis, keys, maxAgeMs: 0, now, unackedFrom });
  expect(await retention.removeOld(new AbortController().signal)).toBe(3);
  expect(await world.historyKeys()).toEqual(['layout']);
});

it('continues after an interruption, and leaves present places alone', async () => {
  const world = new AlarmWorld(place);
  const wheres = Array.from({ length: 300 }, (_, number) => ({ customData: `{"n":${number}}` }));
  await world.logs.alarms.append(
    wheres.map((where, at) => world.alarm({ kind: 'fall', id: newId() }, START_MS + at, where)),
  );
  const present = await placesOf(world);
  await carryOver(world);
  expect(await placesOf(world)).toEqual(present);
  const { redis, keys, deviceId, locationId } = world;
  await redis.hset(keys.record('device', deviceId), { name: 'Bett 1' });
  await redis.hset(keys.record('location', locationId), { name: 'Haus' });
  for (const count of [300, 150]) {
    await downgrade(world, count);
    await carryOver(world);
    expect(await placesOf(world)).toEqual(present);
  }
});

it('reads nothing in a store of the present layout', async () => {
  const world = new AlarmWorld(place);
  await carryOver(world);
  expect(await world.redis.get(world.keys.layout)).toBe('5');
  await record(world, 1, {});
  await downgrade(world);
  await world.redis.set(world.keys.layout, '5');
  const before = await placesOf(world);
  await carryOver(world);
  expect(await placesOf(world)).toEqual(before);
});

it.each([undefined, '5'])(
  'removes the queue of version 1 from a store of layout %s',
  async (layout) => {
    const world = new AlarmWorld(place);
    const { redis, keys } = world;
    await redis.xadd(keys.version1Backlog, '1-0', 'p', '{}');
    if (layout !== undefined) await redis.set(keys.layout, layout);
    await carryOver(world);
    expect(await redis.exists(keys.version1Backlog)).toBe(0);
  },
);

it('refuses a store with a newer layout, and changes nothing in it', async () => {
  const world = new AlarmWorld(place);
  await record(world, 1, {});
  await downgrade(world);
  await world.redis.set(world.keys.layout, '6');
  const before = await placesOf(world);
  await expect(carryOver(world)).rejects.toMatchObject({
    code: 'start-failed',
    detail: expect.stringContaining('written by a newer version'),
  });
  expect(await placesOf(world)).toEqual(before);
  expect(await world.redis.get(world.keys.layout)).toBe('6');
});

it('gives sessions of layout 2 the name space of their owners, with their QoS 2 identifiers', async () => {
  const world = new AlarmWorld(place);
  const { redis, keys } = world;
  const fields = { owner: 'token:1', subscriptions: '[]', cursors: '{}', seenAtMs: '0' };
  await redis.set(keys.layout, 2);
  for (const clientId of ['nurse', 'a/b c']) {
    await redis.hset(keys.session(clientId), fields);
    await redis.sadd(keys.sessions, clientId);
  }
  await redis.hset(keys.received('nurse'), '7', '');
  // A session that cannot be read stays under its client id, to be reported.
  await redis.set(keys.session('damaged'), 'x');
  await redis.sadd(keys.sessions, 'damaged');

  for (const _start of ['first', 'second']) {
    await carryOver(world);
    const sessions = (await redis.smembers(keys.sessions)).sort();
    expect(sessions).toEqual(['damaged', 'token:1/a/b c', 'token:1/nurse']);
    expect(await redis.hgetall(keys.session('token:1/nurse'))).toEqual(fields);
    expect(await redis.hkeys(keys.received('token:1/nurse'))).toEqual(['7']);
    expect(await redis.exists(keys.session('nurse'), keys.received('nurse'))).toBe(0);
    expect(await redis.get(keys.layout)).toBe('5');
  }
});

it('leaves the sessions of a store that was emptied, its layout with it, to their subscribers', async () => {
  const world = new AlarmWorld(place);
  const { redis, keys } = world;
  await carryOver(world);
  // As FLUSHALL beneath a gateway that runs does: what it stores from then on is of the present layout.
  await redis.del(keys.layout);
  const cursor = { ackFloor: 7, delivered: 7, expired: 0, dropped: 0 };
  const session = {
    ...{ key: 'token:1/nurse', clientId: 'nurse', owner: 'token:1', seenAtMs: 1 },
    ...{ subscriptions: [], cursors: { alarms: cursor, messages: cursor } },
  };
  const store = new SessionStoreRedis(redis, keys);
  await store.save(session);
  await redis.hset(keys.received(session.key), '7', '');

  await carryOver(world);
  const { sessions, unreadable } = await store.load();
  expect(sessions).toMatchObject([{ ...session, received: [7] }]);
  expect(unreadable).toEqual([]);
});
