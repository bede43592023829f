import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { itemOf } from '../../../src/delivery/log/log-entry.js';
import { LogTail } from '../../../src/delivery/log/log-tail.js';
import { lastLeft } from '../../../src/delivery/log/reply-code.js';
import { QueueStoreRedis } from '../../../src/store/queue-store-redis.js';
import { Store } from '../../../src/store/store.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { newIdentity } from '../../former/stored/stored-logs.js';
import { NURSE, QueueWorld, RECORD, WARD } from './queue-world.js';

const place = useRedis();
const NO_BOUNDS = { oldestMs: 0, maxMessages: 1e6, maxMessageBytes: 1e9 };
const ANY = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

it('pushes an alarm onto the queue of each destination once, in the write that records it', async () => {
  const world = await QueueWorld.open(place);
  const alarm = world.fall();
  const batch = [alarm, world.fall(), alarm];
  await world.logs.append(batch, NURSE, WARD);
  await world.logs.append(batch, NURSE, WARD);
  for (const key of [NURSE, WARD]) {
    const page = await world.logs.queues.page('alarms', key, 0, 10);
    expect(page.entries.map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect((await world.accounts(key)).alarms).toMatchObject({ accepted: 2, queued: 2 });
  }
});

it('does not read a queue of a store that has lost alarms, and returns the newest number left', async () => {
  const world = await QueueWorld.open(place);
  await world.logs.append([world.fall()], NURSE);
  const tail = new LogTail(2);
  const error = await world.logs.queues
    .page('alarms', NURSE, 0, 10, tail)
    .catch((thrown: unknown) => thrown);
  expect(lastLeft(error)).toBe(1);
  tail.cutAfter(1);
  expect((await world.logs.queues.page('alarms', NURSE, 0, 10, tail)).entries).toHaveLength(1);
});

it('pushes a change of state, too, to those who are to see it', async () => {
  const world = await QueueWorld.open(place);
  const alarm = world.fall();
  await world.logs.append([alarm]);
  const { locationId, deviceId } = world;
  const asked: string[] = [];
  const identity = newIdentity();
  const batch = await world.logs.alarms.freeze(
    [world.resolve(alarm)],
    ({ topic }) => {
      asked.push(topic);
      return [{ key: NURSE }];
    },
    identity,
  );
  expect(await batch.write()).toMatchObject({ backlogs: new Map([[NURSE, { alarms: 1 }]]) });
  // The answer was lost.
  expect(await batch.write()).toMatchObject({ appended: [{ sequence: 2, isNew: false }] });
  expect(asked).toEqual([`care-homes/${locationId}/devices/${deviceId}/alarm-states/fall`]);
  expect(await world.items()).toEqual([itemOf(2, identity.tag)]);
});

it.each([
  ['gone', (world: QueueWorld) => world.redis.del(world.keys.session(NURSE))],
  ['a text', (world: QueueWorld) => world.redis.set(world.keys.session(NURSE), 'x')],
  [
    'with a queue that is a text',
    (world: QueueWorld) => world.redis.set(world.keys.queue(NURSE), 'x'),
  ],
  [
    'with a stream that is a text',
    (world: QueueWorld) => world.redis.set(world.keys.values(NURSE), 'x'),
  ],
  [
    'with a count that is none',
    (world: QueueWorld) => world.redis.hset(world.keys.session(NURSE), 'alarms.accepted', 'many'),
  ],
  [
    'with a count of messages that is none',
    (world: QueueWorld) => world.redis.hset(world.keys.session(NURSE), 'messages.bytes', '1.5'),
  ],
])('writes nothing for a destination that is %s, until its record is mended', async (_, damage) => {
  const world = await QueueWorld.open(place);
  await damage(world);
  const append = async () => {
    await world.push(1, WARD, NURSE);
    await world.pushMessages(1, 10, WARD, NURSE);
  };
  await expect(append()).rejects.toThrow(`unusable: ${NURSE}`);
  expect((await world.accounts(WARD)).messages.accepted).toBe(0);
  await world.sessions.mend({ ...RECORD, key: NURSE });
  await world.push(1, WARD, NURSE);
  await world.pushMessages(1, 10, WARD, NURSE);
  const { alarms, messages } = await world.accounts();
  expect(alarms).toMatchObject({ delivered: 0, expired: 0, dropped: 0 });
  expect([alarms.accepted, messages.accepted]).toEqual([alarms.queued, messages.queued]);
  expect((await world.sessions.load()).sessions.map(({ key }) => key).sort()).toEqual([
    NURSE,
    WARD,
  ]);
});

it('settles what was acknowledged, in any order and once', async () => {
  const world = await QueueWorld.open(place);
  await world.push(20, NURSE);
  const items = await world.items();
  const [first = 0, second = 0, ...others] = items;
  const last = others.at(-1) ?? 0;
  const out = [others[3] ?? 0, second, first, last];
  expect(await world.settle(out)).toMatchObject([{ alarms: 16 }]);
  expect(await world.settle(out)).toMatchObject([{ alarms: 16 }]);
  expect(await world.items()).toEqual(items.filter((item) => !out.includes(item)));
  await world.settle([others[0] ?? 0], 'refused');
  expect((await world.accounts()).alarms).toMatchObject({
    accepted: 20,
    delivered: 4,
    queued: 15,
    dropped: 1,
    reasons: { refused: 1 },
  });
});

it('settles and counts even when the keys of the proofs have another type', async () => {
  const world = await QueueWorld.open(place);
  await world.push(2, NURSE);
  const [one = 0, two = 0] = await world.items();
  await world.redis.set(world.keys.destinationNumbers, 'overwritten');
  await world.settle([one]);
  await world.redis.del(world.keys.destinationNumbers);
  await world.redis.hset(`${world.keys.proofPrefix}0`, 'over', 'written');
  await world.settle([two]);
  expect((await world.accounts()).alarms).toMatchObject({ accepted: 2, delivered: 2, queued: 0 });
});

it('does not settle another alarm that took the number after a failover', async () => {
  const world = await QueueWorld.open(place);
  await world.push(1, NURSE);
  const [lost = 0] = await world.items();
  // The store goes back to a state before the alarm; the next alarm gets its number.
  await world.redis.del(
    world.keys.queue(NURSE),
    world.keys.history,
    world.keys.logSequence('alarms'),
  );
  await world.push(1, NURSE);
  const [found = 0] = await world.items();
  expect(Math.floor(found / 65_536)).toBe(Math.floor(lost / 65_536));
  await world.settle([lost]);
  expect(await world.items()).toEqual([found]);
});

it('does not search a long queue for removed items', async () => {
  const world = await QueueWorld.open(place);
  const queue = world.keys.queue(NURSE);
  const items = Array.from({ length: 50_000 }, (_, index) => itemOf(1_000 + index, 0));
  await world.redis.rpush(queue, ...items);
  await world.redis.config('RESETSTAT');
  await world.settle(Array.from({ length: 500 }, (_, index) => itemOf(index, 0)));
  const stats = await world.redis.info('commandstats');
  expect(stats).not.toContain('cmdstat_lrem');
  expect(await world.redis.llen(queue)).toBe(items.length);
});

it('does not hide other sessions when a count of one is invalid', async () => {
  const world = await QueueWorld.open(place);
  await world.redis.hset(world.keys.session(NURSE), 'alarms.delivered', 'many');
  const accounts = await world.logs.queues.accounts([NURSE, WARD]);
  expect(accounts).toMatchObject([undefined, { alarms: { accepted: 0 } }]);
});

it('skips items that somebody else has pushed onto a queue', async () => {
  const world = await QueueWorld.open(place);
  await world.push(2, NURSE);
  await world.redis.rpush(world.keys.queue(NURSE), 'garbage');
  await world.push(2, NURSE);
  const page = await world.logs.queues.page('alarms', NURSE, 0, 10);
  expect(page.entries.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
  expect(page.missing).toEqual([]);
});

it('writes nothing of a change of state when an index has another type', async () => {
  const world = await QueueWorld.open(place);
  const alarm = world.fall();
  await world.logs.append([alarm]);
  const [open = ''] = await world.redis.keys(`${world.keys.openAlarmIndexesOf(world.locationId)}*`);
  await world.redis.set(open, 'text');
  await expect(world.logs.append([world.resolve(alarm)])).rejects.toThrow('WRONGTYPE');
  expect(await world.redis.xlen(world.keys.history)).toBe(1);
  expect(await world.redis.exists(world.keys.auditChanges)).toBe(0);
});

it('settles nothing for a deleted destination, and leaves nothing behind', async () => {
  const world = await QueueWorld.open(place);
  await world.push(2, NURSE);
  const items = await world.items();
  await world.sessions.delete(NURSE);
  expect(await world.settle(items)).toEqual([undefined]);
  expect(await world.logs.queues.keepBounds(NURSE, NO_BOUNDS, ANY)).toBeUndefined();
  expect(await world.logs.queues.accounts([NURSE])).toEqual([undefined]);
  const left = await world.redis.keys(`${world.keys.sitePrefix}*${NURSE}`);
  expect(left).toEqual([]);
});

it('returns its accounts while the settling connection is down, as after a failover at a start', async () => {
  const world = await QueueWorld.open(place);
  await world.push(2, NURSE);
  const away = new Redis({
    path: '/nonexistent.sock',
    lazyConnect: true,
    enableOfflineQueue: false,
  });
  const stores = { store: new Store(away), reader: new Store(world.redis, { isPatient: true }) };
  const queues = new QueueStoreRedis(stores, world.keys, world.logs.alarms, Date.now);
  const [accounts] = await queues.accounts([NURSE]);
  expect(accounts?.alarms.accepted).toBe(2);
  away.disconnect();
});
