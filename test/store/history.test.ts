/**
 * The scripts of the history and of the queues, on a real Redis: each batch is one atomic write that can be repeated, and
 * the accounts of the queues are right after every one.
 */
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type {
  Appended,
  NewAlarm,
  NewEntry,
  NewEvent,
  Numbers,
} from '../../src/delivery/new-entry.js';
import type { Outcome } from '../../src/delivery/queue.js';
import { lastLeft } from '../../src/delivery/reply-code.js';
import { Writer } from '../../src/delivery/writer.js';
import { ALARM_KINDS, alarmText, parseAlarm } from '../../src/domain/alarm.js';
import { newId, uuidBytes } from '../../src/domain/ids.js';
import { deviceContext } from '../../src/domain/messages.js';
import { forwardedTopic } from '../../src/domain/topics.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import {
  AlarmHistory,
  type AlarmOrder,
  type AlarmPosition,
} from '../../src/store/history/alarm-history.js';
import { HistoryLog, historyRetention } from '../../src/store/history/history-log.js';
import { keysOf } from '../../src/store/keys.js';
import { QueueStoreRedis } from '../../src/store/queues.js';
import { SessionStoreRedis } from '../../src/store/sessions.js';
import { Store } from '../../src/store/store.js';
import { silent } from '../delivery/in-memory.js';
import { expect, test } from '../harness/index.js';

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 24 * 3_600_000;
const [NURSE, WARD] = ['token:1/nurse', 'token:1/ward'];
const RECORD = { owner: 'token:1', subscriptions: [], seenAtMs: 0 };
const LOCATION = { id: newId(), name: 'Haus', order: 1 };
/** A name with what a careless reader of JSON trips over. */
const NAME = 'Bett "1","location":{"id":"x" \ud800';

interface Sent {
  readonly id?: string;
  readonly atMs?: number;
  readonly deviceId?: string;
  readonly customData?: string;
  readonly receipt?: NewAlarm['receipt'];
  readonly kind?: string;
}

/** The history of a site of its own, and the queues of two sessions. */
class Stored {
  readonly redis: Redis;
  readonly keys = keysOf(newId());
  readonly deviceId = newId();
  readonly history: HistoryLog;
  readonly alarms: AlarmHistory;
  readonly queues: QueueStoreRedis;
  readonly sessions: SessionStoreRedis;
  readonly store: Store;

  private constructor(place: { readonly redis: Redis }) {
    const redis = place.redis.duplicate();
    onTestFinished(() => redis.disconnect());
    this.redis = redis;
    const store = new Store(redis, this.keys.sitePrefix);
    this.store = store;
    const headroom = new StoreHeadroom();
    const recordOf = () => ({ isDenial: false, atMs: START_MS, steadyMs: START_MS, text: '{}' });
    const { keys } = this;
    this.history = new HistoryLog({
      writer: store,
      reader: store,
      keys,
      headroom,
      recordOf,
      log: silent,
    });
    this.alarms = new AlarmHistory(store, silent);
    this.queues = new QueueStoreRedis(store, store, this.history, Date.now);
    this.sessions = new SessionStoreRedis(store, keys);
  }

  static async open(place: { readonly redis: Redis }): Promise<Stored> {
    const stored = new Stored(place);
    for (const key of [NURSE, WARD])
      await stored.sessions.save({ ...RECORD, key, clientId: key.slice(8) });
    return stored;
  }

  alarm({
    id = newId(),
    atMs = START_MS,
    deviceId = this.deviceId,
    customData = '{}',
    receipt,
    kind = 'fall',
  }: Sent = {}): NewAlarm {
    const placed = { id: deviceId, locationId: LOCATION.id, roomId: null, customData };
    const common = { name: NAME, order: 2, createdAtMs: 0, secretHash: '' };
    const context = deviceContext({ ...common, ...placed }, LOCATION, null, null);
    const origin = { deviceId, kind: undefined, receivedAtMs: atMs };
    const result = parseAlarm(Buffer.from(JSON.stringify({ kind, id })), origin);
    if ('reason' in result) throw new Error(result.reason);
    return {
      topic: forwardedTopic(LOCATION.id, deviceId, `alarms/${result.alarm.kind}`),
      payload: Buffer.from(alarmText(result.alarm, context.text, atMs)),
      alarm: result.alarm,
      context,
      receivedAtMs: atMs,
      wallReceivedAtMs: atMs,
      receipt,
      locationId: LOCATION.id,
      groupId: null,
      isSent: false,
    };
  }

  silence(id = newId()): NewEvent {
    return {
      topic: forwardedTopic(LOCATION.id, this.deviceId, 'supervision'),
      payload: Buffer.from('{}'),
      receivedAtMs: START_MS,
      locationId: LOCATION.id,
      groupId: null,
      isNeverLate: true,
      event: {
        id: uuidBytes(id),
        deviceId: this.deviceId,
        level: 'supervision',
        members: `"id":"${id}"`,
        placeText: `{${this.alarm().context.text}}`,
        atMs: START_MS,
        subject: { type: 'supervision', state: 'silent', lastSeenAtMs: START_MS },
      },
    };
  }

  async append(
    entries: readonly NewEntry[],
    destinations: readonly string[] = [],
    numbers: Partial<Numbers> = {},
  ): Promise<readonly number[]> {
    const all = entries.map(() => destinations);
    const appended = await this.history.append(entries, all, { known: 0, above: 0, ...numbers });
    if ('unusable' in appended) throw new Error(`unusable: ${appended.unusable.join(', ')}`);
    return appended.numbers;
  }

  async queued(key = NURSE): Promise<number[]> {
    return (await this.redis.lrange(this.keys.queue(key), 0, -1)).map(Number);
  }

  settle(sequences: readonly number[], outcome: Outcome = 'delivered') {
    return this.queues.settle([{ destination: NURSE, outcome, sequences }]);
  }

  async account(key = NURSE) {
    const [account] = await this.queues.accounts([key]);
    return account;
  }

  /** Everything in the store of this site, except counters. */
  async everything(): Promise<string[]> {
    const keys = await this.redis.keys(`${this.keys.sitePrefix}*`);
    return keys.map((key) => key.slice(this.keys.sitePrefix.length)).sort();
  }

  page(limit: number, order: AlarmOrder, position?: AlarmPosition, upToSequence?: number) {
    return this.alarms.page({
      scopes: [{ locationId: LOCATION.id, groupIds: undefined }],
      deviceIds: undefined,
      roomIds: undefined,
      kinds: ALARM_KINDS,
      beforeMs: undefined,
      afterMs: undefined,
      order,
      limit,
      upToSequence,
      position,
    });
  }
}

test('500 alarms in two batches have numbers without gaps, in order, in each queue once', async ({
  own,
}) => {
  const stored = await Stored.open(await own.redis());
  const alarms = Array.from({ length: 500 }, (_, n) => stored.alarm({ atMs: START_MS + n }));
  const first = await stored.append(alarms.slice(0, 250), [NURSE, WARD]);
  const numbers = [...first, ...(await stored.append(alarms.slice(250), [NURSE, WARD]))];
  expect(numbers).toEqual(Array.from({ length: 500 }, (_, n) => n + 1));
  for (const key of [NURSE, WARD]) expect(await stored.queued(key)).toEqual(numbers);
  const { entries, isEnd, reached } = await stored.queues.page(NURSE, 240, 20);
  expect([entries.map(({ sequence }) => sequence), isEnd, reached]).toEqual([
    Array.from({ length: 20 }, (_, n) => 241 + n),
    false,
    260,
  ]);
  expect(entries[0]?.payload.toString()).toBe(alarms[240]?.payload.toString());
  // A batch whose answer was lost is sent again.
  expect(await stored.append(alarms.slice(250), [NURSE, WARD])).toEqual(
    numbers.slice(250).map((number) => -number),
  );
  expect(await stored.queued()).toHaveLength(500);
});

test('an alarm is recorded once, by its id and its device, or by its receipt', async ({ own }) => {
  const stored = await Stored.open(await own.redis());
  const id = newId();
  const [one, other] = [stored.alarm({ id }), stored.alarm({ id, deviceId: newId() })];
  expect(await stored.append([one, one, other])).toEqual([1, -1, 2]);
  expect(await stored.append([other, one])).toEqual([-2, -1]);
  const sent = (packetIdentifier: number, payloadDigest: string, isSentAgain: boolean, atMs = 0) =>
    stored.alarm({
      atMs: START_MS + atMs,
      receipt: { packetIdentifier, payloadDigest, isSentAgain },
    });
  expect(await stored.append([sent(7, 'a', false), sent(7, 'a', true)])).toEqual([3, -3]);
  expect(
    await stored.append([
      sent(7, 'a', true, 299_000),
      sent(7, 'b', true),
      sent(8, 'a', true),
      sent(7, 'a', false),
      sent(7, 'a', true, 600_001),
    ]),
  ).toEqual([-3, 4, 5, 6, 7]);
  // Of the slot in which it came, and the next: none stays for ever.
  const receipts = await stored.redis.keys('*receipts:*');
  const lifetimes = await Promise.all(receipts.map((key) => stored.redis.pttl(key)));
  expect(receipts.length).toBeGreaterThan(1);
  expect(lifetimes.every((ms) => ms > 600_000 && ms <= 900_000)).toBe(true);
});

test('a condition holds for the first of a batch, and what is appended again does not change anything', async ({
  own,
}) => {
  const stored = await Stored.open(await own.redis());
  const alarm = stored.alarm();
  await stored.append([alarm]);
  const found = await stored.history.find({ alarmId: alarm.alarm.id });
  expect(found).toMatchObject({ sequence: '1', kind: 'fall', statesText: '', groupId: null });
  const change = (state: 'acknowledged' | 'resolved', after: string): NewEntry => ({
    topic: forwardedTopic(LOCATION.id, stored.deviceId, 'alarm-states/fall'),
    payload: Buffer.from('{}'),
    receivedAtMs: START_MS,
    locationId: LOCATION.id,
    groupId: null,
    isNeverLate: true,
    stateChange: {
      id: uuidBytes(newId()),
      locationId: LOCATION.id,
      deviceId: stored.deviceId,
      alarmId: alarm.alarm.id,
      kind: 'fall',
      sequence: '1',
      placeText: found?.placeText ?? '',
      state,
      note: undefined,
      by: { id: 't', name: 'T' },
      atMs: START_MS,
      before: '',
      after,
      audit: {
        action: 'alarm.acknowledged',
        actor: { type: 'access-token', id: 't', address: null, requestId: null },
        atMs: START_MS,
        locationId: LOCATION.id,
        resourceId: null,
        details: {},
      },
    },
  });
  const [acknowledged, resolved] = [
    change('acknowledged', '{"note":"a"}'),
    change('resolved', '{}'),
  ];
  expect(await stored.append([acknowledged, resolved])).toEqual([2, 0]);
  expect(await stored.append([acknowledged, resolved])).toEqual([-2, 0]);
  expect((await stored.history.find({ alarmId: alarm.alarm.id }))?.statesText).toBe('{"note":"a"}');
  expect(await stored.redis.xlen(stored.keys.auditChanges)).toBe(1);
  // What the audit trail needs is looked at before anything is written.
  await stored.redis.del(...(await stored.redis.keys('*alarm-states:*')));
  await stored.redis.set(stored.keys.auditDenials, 'overwritten');
  const later = change('resolved', '{}');
  const before = await stored.redis.xlen(stored.keys.history);
  await expect(stored.append([stored.alarm(), later], [NURSE])).rejects.toThrow('WRONGTYPE');
  expect(await stored.redis.xlen(stored.keys.history)).toBe(before);
});

test('numbers are never given twice: not below what the gateway has seen, nor what the stream has had', async ({
  own,
}) => {
  const stored = await Stored.open(await own.redis());
  await stored.append([stored.alarm(), stored.alarm()], [NURSE]);
  await expect(stored.append([stored.alarm()], [], { known: 3 })).rejects.toSatisfy(
    (error) => lastLeft(error) === 2,
  );
  expect(await stored.append([stored.alarm()], [], { known: 2, above: 9 })).toEqual([10]);
  for (const counter of ['3', 'nonsense']) {
    await stored.redis.set(stored.keys.historySequence, counter);
    const { alarms } = await stored.page(100, 'desc');
    expect(alarms.length).toBeGreaterThan(2);
    const [number = 0] = await stored.append([stored.alarm()]);
    expect(number).toBeGreaterThan(10);
  }
});

test('nothing of a batch is written when a destination or a key is unusable', async ({ own }) => {
  const stored = await Stored.open(await own.redis());
  const alarm = stored.alarm();
  await stored.append([stored.alarm()], [NURSE]);
  const before = await stored.everything();
  expect(await stored.history.append([alarm], [['token:1/gone']], { known: 1, above: 1 })).toEqual({
    unusable: ['token:1/gone'],
  });
  await stored.redis.hset(stored.keys.session(WARD), 'accepted', 'x');
  await expect(stored.append([alarm], [NURSE, WARD])).rejects.toThrow(`unusable: ${WARD}`);
  const index = `${stored.keys.sitePrefix}alarms:${LOCATION.id}:${stored.deviceId}`;
  await stored.redis.set(index, 'overwritten');
  await expect(stored.append([stored.silence(), alarm], [NURSE])).rejects.toThrow('WRONGTYPE');
  expect(await stored.everything()).toEqual(before);
  expect(await stored.queued()).toEqual([1]);
  expect(await stored.append([stored.silence()], [NURSE])).toEqual([2]);
});

test('a destination is mended: its record, keys of another type, and its account', async ({
  own,
}) => {
  const stored = await Stored.open(await own.redis());
  await stored.append([stored.alarm(), stored.alarm(), stored.alarm()], [NURSE]);
  await stored.settle([1]);
  await stored.redis.hset(stored.keys.session(NURSE), 'accepted', '77', 'lost', 'x');
  const record = { ...RECORD, key: NURSE, clientId: 'nurse' };
  expect(await stored.sessions.mend(record)).toBe(2);
  expect(await stored.account()).toMatchObject({ accepted: 3, delivered: 1, queued: 2 });
  await stored.redis.del(stored.keys.session(NURSE), stored.keys.queue(NURSE));
  await stored.redis.set(stored.keys.queue(NURSE), 'overwritten');
  await expect(stored.append([stored.alarm()], [NURSE])).rejects.toThrow('unusable');
  expect(await stored.account()).toBeUndefined();
  expect(await stored.sessions.mend(record)).toBe(0);
  expect(await stored.append([stored.alarm()], [NURSE])).toEqual([4]);
});

test('settling takes off what is there, in any order and once, and keeps the account and the proofs', async ({
  own,
}) => {
  const { redis } = await own.redis();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.nat(39), count: fc.integer({ min: 1, max: 9 }) }), {
        maxLength: 12,
      }),
      async (steps) => {
        const stored = await Stored.open({ redis });
        const left = new Set(
          await stored.append(
            Array.from({ length: 40 }, () => stored.alarm()),
            [NURSE],
          ),
        );
        for (const { at, count } of steps) {
          const some = Array.from({ length: count }, (_, n) => at + n + 1);
          for (const number of some) left.delete(number);
          expect(await stored.settle(some)).toEqual([left.size]);
        }
        expect(await stored.queued()).toEqual([...left]);
        const delivered = 40 - left.size;
        expect(await stored.account()).toMatchObject({
          accepted: 40,
          delivered,
          queued: left.size,
          dropped: 0,
        });
        stored.redis.disconnect();
      },
    ),
    { numRuns: 25 },
  );
});

test('what became of an alarm is known for each destination', async ({ own }) => {
  const stored = await Stored.open(await own.redis());
  const alarms = Array.from({ length: 105 }, () => stored.alarm());
  await stored.append(alarms, [NURSE, WARD]);
  await stored.settle([1, 2, 101, 102]);
  await stored.settle([3], 'refused');
  const states = async (number: number) => {
    const { alarm } = alarms[number - 1] ?? stored.alarm();
    const found = await stored.alarms.deliveries({ locationId: LOCATION.id, alarmId: alarm.id });
    return found?.map(({ destination, state }) => `${destination} ${state}`).sort();
  };
  expect(await states(1)).toEqual([`${NURSE} delivered`, `${WARD} queued`]);
  expect(await states(102)).toEqual([`${NURSE} delivered`, `${WARD} queued`]);
  expect(await states(3)).toEqual([`${NURSE} dropped`, `${WARD} queued`]);
  expect(await states(4)).toEqual([`${NURSE} queued`, `${WARD} queued`]);
});

test('a queue expires by age; an entry without a record is lost, and other values are passed over', async ({
  own,
}) => {
  const stored = await Stored.open(await own.redis());
  const times = [0, 1, 2, DAY_MS, DAY_MS];
  await stored.append(
    times.map((ms) => stored.alarm({ atMs: START_MS + ms })),
    [NURSE],
  );
  await stored.redis.xdel(stored.keys.history, '2-0');
  await stored.redis.rpush(stored.keys.queue(NURSE), 'a stranger');
  const page = await stored.queues.page(NURSE, 0, 10);
  expect([page.entries.map(({ sequence }) => sequence), page.missing]).toEqual([[1, 3, 4, 5], [2]]);
  expect(await stored.queues.oldestReceivedAtMs(NURSE)).toBe(START_MS);
  expect(await stored.queues.oldestQueued()).toBe(1);
  expect(await stored.queues.expire(NURSE, START_MS + 10)).toEqual({ lost: 1, queued: 3 });
  expect(await stored.account()).toMatchObject({
    accepted: 5,
    expired: 2,
    dropped: 1,
    reasons: { lost: 1 },
  });
  expect(await stored.queues.expire('token:1/gone', 0)).toBeUndefined();
});

test('pages have every alarm once, in either order, also with equal times', async ({ own }) => {
  const { redis } = await own.redis();
  const kinds = fc.constantFrom('fall', 'noise', 'helpCall');
  const sent = fc.array(fc.tuple(fc.nat(5), kinds), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(sent, fc.integer({ min: 1, max: 9 }), async (all, limit) => {
      const stored = await Stored.open({ redis });
      const alarms = all.map(([ms, kind]) => stored.alarm({ atMs: START_MS + ms, kind }));
      await stored.append(alarms);
      const sorted = alarms
        .map((alarm, at) => ({ id: alarm.alarm.id, ms: alarm.receivedAtMs, at }))
        .sort((one, other) => one.ms - other.ms || one.at - other.at)
        .map(({ id }) => id);
      for (const order of ['asc', 'desc'] as const) {
        const ids: string[] = [];
        let page = await stored.page(limit, order);
        ids.push(...page.alarms.map(({ id }) => id));
        // What comes later is on no page.
        await stored.append([stored.alarm({ atMs: START_MS + 2 })]);
        while (page.next !== undefined) {
          page = await stored.page(limit, order, page.next, all.length);
          ids.push(...page.alarms.map(({ id }) => id));
        }
        const added = order === 'asc' ? 0 : 1;
        expect(ids.filter((id) => sorted.includes(id))).toEqual(
          order === 'asc' ? sorted : sorted.toReversed(),
        );
        expect(ids.length).toBeLessThanOrEqual(sorted.length + added);
      }
      stored.redis.disconnect();
    }),
    { numRuns: 15 },
  );
});

test('retention leaves nothing behind, and keeps what a queue needs or is not known to be old', async ({
  own,
}) => {
  const stored = await Stored.open(await own.redis());
  const customData = '{"group":{"id":"g"},"device":{"id":"d"}}';
  const [old, kept] = [{ atMs: START_MS, customData }, { atMs: START_MS + 2 * DAY_MS }];
  const receipt = { packetIdentifier: 1, payloadDigest: 'd', isSentAgain: false };
  const before = await stored.everything();
  const removeOld = (queuedFrom = Number.POSITIVE_INFINITY) =>
    historyRetention(
      stored.store,
      DAY_MS,
      () => kept.atMs,
      () => Promise.resolve(queuedFrom),
    ).removeOld(new AbortController().signal);
  // Recorded before the clock was set.
  await stored.append([stored.alarm({ atMs: 5 }), stored.silence()]);
  await stored.append(Array.from({ length: 300 }, () => stored.alarm(old)));
  await stored.append([stored.alarm({ ...old, receipt }), stored.alarm(kept)]);
  expect(await removeOld(10)).toBe(9);
  expect(await removeOld()).toBe(294);
  expect(await stored.redis.xlen(stored.keys.history)).toBe(1);
  await stored.redis.del(stored.keys.history);
  const left = (await stored.everything()).filter((key) => !before.includes(key));
  expect(
    left.filter((key) => !/^(sequence|receipts|ids|alarms|open-alarms|supervision)/.test(key)),
  ).toEqual([]);
  expect(left.filter((key) => key.startsWith('ids:'))).toHaveLength(1);
  expect(left.filter((key) => key.startsWith('alarms:'))).toHaveLength(2);
});

test('retention goes past an overwritten key', async ({ own }) => {
  const stored = await Stored.open(await own.redis());
  await stored.append([stored.alarm(), stored.alarm()]);
  const keys = [...(await stored.redis.keys('*ids:*')), ...(await stored.redis.keys('*alarms:*'))];
  for (const key of keys) await stored.redis.set(key, 'overwritten');
  const remove = historyRetention(
    stored.store,
    DAY_MS,
    () => START_MS + 3 * DAY_MS,
    () => Promise.resolve(Number.POSITIVE_INFINITY),
  );
  expect(await remove.removeOld(new AbortController().signal)).toBe(2);
});

test('a thousand entries are stored by the writer over a store that answers each batch twice', async ({
  own,
}) => {
  const stored = await Stored.open(await own.redis());
  const announced: number[] = [];
  let last = 0;
  const writer = new Writer({
    store: {
      append: async (entries, destinations, numbers) => {
        await stored.history.append(entries, destinations, numbers);
        return stored.history.append(entries, destinations, numbers);
      },
    },
    router: {
      get numbers() {
        return { known: last, above: last };
      },
      destinationsOf: () => [NURSE],
      announce: (_, { numbers }: Exclude<Appended, { unusable: unknown }>) => {
        announced.push(...numbers.map(Math.abs));
        last = Math.abs(numbers.at(-1) ?? 0);
      },
      wentBack: () => [],
      mend: () => Promise.resolve(),
    },
    onOutage: () => undefined,
    onRefused: () => undefined,
    sendLive: () => undefined,
    log: silent,
  });
  await Promise.all(
    Array.from({ length: 1_000 }, (_, n) => {
      const entry = stored.alarm({ atMs: START_MS + n });
      return new Promise<boolean>((resolve) => writer.append(entry, resolve));
    }),
  );
  expect(announced).toEqual(Array.from({ length: 1_000 }, (_, n) => n + 1));
  expect(await stored.account()).toMatchObject({ accepted: 1_000, queued: 1_000 });
});
