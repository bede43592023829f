import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { bytesOfMessage } from '../../../src/delivery/log/log-entry.js';
import { numbered } from '../../delivery/running-delivery.js';
import { useRedis } from '../../former/servers/shared-redis.js';
import { newIdentity } from '../../former/stored/stored-logs.js';
import { NURSE, QueueWorld, RECORD, START_MS, WARD } from './queue-world.js';

const place = useRedis();
const NO_BOUNDS = { oldestMs: 0, maxMessages: 1e6, maxMessageBytes: 1e9 };
const ANY = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

it('expires what is too old, and counts an alarm without a record as lost', async () => {
  const world = await QueueWorld.open(place);
  await world.push(1_200, NURSE);
  await world.pushMessages(10, 100, NURSE);
  await world.redis.xdel(world.keys.history, '3-0', '4-0');
  const bounds = { ...NO_BOUNDS, oldestMs: START_MS + 1_100 };
  const take = () => world.logs.queues.keepBounds(NURSE, bounds, ANY);
  expect(await take()).toMatchObject({ lost: 2, hasMore: true, backlog: { alarms: 700 } });
  expect(await take()).toMatchObject({ lost: 0, hasMore: true, backlog: { alarms: 200 } });
  expect(await take()).toEqual({
    lost: 0,
    hasMore: false,
    backlog: { alarms: 100, messages: 0, messageBytes: 0 },
  });
  const { alarms, messages } = await world.accounts();
  expect(alarms).toMatchObject({ expired: 1_098, dropped: 2, reasons: { lost: 2 }, queued: 100 });
  expect(messages).toMatchObject({ expired: 10, queued: 0 });
});

it('drops the oldest messages beyond a bound, except those being sent or not yet announced', async () => {
  const world = await QueueWorld.open(place);
  await world.pushMessages(20, 100, NURSE);
  const { entries } = await world.logs.queues.page('messages', NURSE, 0, 20);
  const bounds = { ...NO_BOUNDS, maxMessages: 5 };
  const range = { after: entries[2]?.item ?? 0, upTo: entries[9]?.sequence ?? 0 };
  expect(await world.logs.queues.keepBounds(NURSE, bounds, range)).toMatchObject({
    backlog: { messages: 13, messageBytes: 1_300 },
  });
  const left = await world.logs.queues.page('messages', NURSE, 0, 20);
  expect(left.entries).toEqual([...entries.slice(0, 3), ...entries.slice(10)]);
  expect(await world.logs.queues.keepBounds(NURSE, bounds, ANY)).toMatchObject({
    backlog: { messages: 5, messageBytes: 500 },
  });
  expect((await world.accounts()).messages).toMatchObject({ accepted: 20, dropped: 15, queued: 5 });
});

it.each([undefined, START_MS + 60_000])(
  'counts the properties of messages towards the byte limit, with the expiry %s',
  async (expiresAtMs) => {
    const world = await QueueWorld.open(place);
    const properties = { fields: Buffer.alloc(1_000), expiresAtMs, isRetained: false };
    const sent = Array.from({ length: 4 }, (_, n) => {
      return { ...numbered(n, 't', START_MS, 100), properties };
    });
    await world.logs.appendMessages(sent, NURSE);
    const { entries } = await world.logs.queues.page('messages', NURSE, 0, 10);
    const [each = 0] = entries.map(bytesOfMessage);
    expect(each).toBeGreaterThan(1_100);
    const bounded = await world.logs.queues.keepBounds(NURSE, NO_BOUNDS, ANY);
    expect(bounded?.backlog.messageBytes).toBe(4 * each);
    const bounds = { ...NO_BOUNDS, maxMessageBytes: 2 * each };
    expect(await world.logs.queues.keepBounds(NURSE, bounds, ANY)).toMatchObject({
      backlog: { messages: 2, messageBytes: 2 * each },
    });
    expect(await world.sessions.mend({ ...RECORD, key: NURSE })).toMatchObject({
      messageBytes: 2 * each,
    });
    await world.settleMessages(entries.slice(3));
    expect(await world.logs.queues.keepBounds(NURSE, NO_BOUNDS, ANY)).toMatchObject({
      backlog: { messages: 1, messageBytes: each },
    });
  },
);

it('adds messages to the streams of their destinations once, however often a batch is sent', async () => {
  const world = await QueueWorld.open(place);
  const messages = [numbered(1, 't', START_MS, 100), numbered(2, 't', START_MS, 50)];
  const batch = await world.logs.messages.freeze(messages, () => [{ key: NURSE }], newIdentity());
  const written = await batch.write();
  expect(await batch.write()).toEqual(written);
  expect(written).toMatchObject({
    appended: [{ sequence: 1 }, { sequence: 2 }],
    backlogs: new Map([[NURSE, { messages: 2, messageBytes: 150 }]]),
  });
  const { entries } = await world.logs.queues.page('messages', NURSE, 0, 10);
  await world.settleMessages(
    entries.slice(0, 1).map(({ item }) => ({ item, payload: { length: 100 } })),
  );
  await world.settleMessages(
    entries.slice(0, 1).map(({ item }) => ({ item, payload: { length: 100 } })),
  );
  expect((await world.accounts()).messages).toMatchObject({ accepted: 2, delivered: 1, queued: 1 });
  const rest = await world.logs.queues.page('messages', NURSE, entries[0]?.item ?? 0, 10);
  expect(rest.entries).toEqual(entries.slice(1));
});

it('reads a queue page by page, whatever has been removed from it', async () => {
  const world = await QueueWorld.open(place);
  const taken = fc.array(fc.nat(99), { maxLength: 100 });
  await world.push(100, NURSE);
  const all = await world.items();
  await fc.assert(
    fc.asyncProperty(taken, fc.integer({ min: 1, max: 60 }), async (gone, count) => {
      const left = all.filter((_, index) => !gone.includes(index));
      await world.redis.del(world.keys.queue(NURSE));
      if (left.length > 0) await world.redis.rpush(world.keys.queue(NURSE), ...left);
      const read: number[] = [];
      for (let isEnd = false; !isEnd; ) {
        const page = await world.logs.queues.page('alarms', NURSE, read.at(-1) ?? 0, count);
        read.push(...page.entries.map(({ item }) => item));
        expect(page.missing).toEqual([]);
        ({ isEnd } = page);
      }
      expect(read).toEqual(left);
    }),
    { numRuns: 60 },
  );
});

it('returns when the oldest item was received, and the oldest alarm of all queues', async () => {
  const world = await QueueWorld.open(place);
  const { queues } = world.logs;
  expect(await queues.oldestReceivedAtMs(NURSE)).toBeUndefined();
  expect(await queues.oldestQueued()).toBe(Number.POSITIVE_INFINITY);
  await world.push(1);
  await world.push(2, WARD);
  await world.push(1, NURSE);
  await world.pushMessages(1, 10, NURSE);
  expect(await queues.oldestReceivedAtMs(NURSE)).toBe(START_MS);
  expect(await queues.oldestQueued()).toBe(2);
});
