/**
 * The scripts that append to the history and to the queues, on a real Redis: each batch is one atomic write that can be
 * repeated, and the accounts of the queues are right after every one.
 */
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { Appended, BatchIdentity, BatchStore } from '../../src/delivery/log/batch.js';
import { bytesOfMessage, itemOf, randomTag } from '../../src/delivery/log/log-entry.js';
import type { NewAlarm, NewMessage, NewStateChange } from '../../src/delivery/log/log-item.js';
import { LogTail } from '../../src/delivery/log/log-tail.js';
import { lastLeft } from '../../src/delivery/log/reply-code.js';
import { NO_ACCOUNTS } from '../../src/delivery/queues/account.js';
import type { Outcome, QueuedItem } from '../../src/delivery/queues/queue-store.js';
import { alarmText, parseAlarm } from '../../src/domain/alarm-payload.js';
import { ALARM_KINDS } from '../../src/domain/alarms.js';
import { deviceContext } from '../../src/domain/messages.js';
import { newId } from '../../src/domain/notation.js';
import { forwardedTopic } from '../../src/domain/topics.js';
import { StoreHeadroom } from '../../src/site/health/store-headroom.js';
import { AlarmHistoryRedis } from '../../src/store/alarms/alarm-history-redis.js';
import { AlarmLog } from '../../src/store/alarms/alarm-log.js';
import { kindNumber } from '../../src/store/alarms/alarm-records.js';
import { keysOf } from '../../src/store/keys.js';
import { QueueStoreRedis } from '../../src/store/queue-store-redis.js';
import { SessionStoreRedis } from '../../src/store/session-store-redis.js';
import { Store } from '../../src/store/store.js';
import { ValueBatches } from '../../src/store/value-batches.js';
import { expect, test } from '../harness/index.js';

const START_MS = Date.UTC(2026, 0, 1);
const [NURSE, WARD] = ['token:1/nurse', 'token:1/ward'];
const RECORD = { owner: 'token:1', clientId: 'nurse', subscriptions: [], seenAtMs: 0 };
const NO_BOUNDS = { oldestMs: 0, maxMessages: 1e6, maxMessageBytes: 1e9 };
const ANY = { after: 0, upTo: Number.MAX_SAFE_INTEGER };
const FALL = kindNumber('fall');
const LOCATION = { id: newId(), name: 'Haus', order: 1 };

interface Where {
  readonly deviceId?: string;
  readonly roomId?: string | null;
  readonly groupId?: string | null;
  readonly customData?: string;
}

/** The identity of a new batch. */
function newIdentity(): BatchIdentity {
  return { id: randomUUID(), tag: randomTag(), after: 0 };
}

/** A message that carries a number. */
function numbered(n: number, topic: string, atMs: number, bytes: number): NewMessage {
  const payload = Buffer.from(String(n).padEnd(bytes, ' '));
  return { topic, payload, receivedAtMs: atMs, locationId: LOCATION.id, groupId: null };
}

/** The history of a site of its own, and the queues of two sessions. */
class Stored {
  readonly redis: Redis;
  readonly keys = keysOf(newId());
  readonly locationId = LOCATION.id;
  readonly deviceId = newId();
  readonly alarms: AlarmLog;
  readonly messages: ValueBatches;
  readonly queues: QueueStoreRedis;
  readonly history: AlarmHistoryRedis;
  readonly sessions: SessionStoreRedis;

  constructor(place: { readonly redis: Redis }) {
    const redis = place.redis.duplicate();
    onTestFinished(() => redis.disconnect());
    this.redis = redis;
    const [writer, reader] = [new Store(redis), new Store(redis)];
    const headroom = new StoreHeadroom();
    this.alarms = new AlarmLog({ writer, reader, headroom }, this.keys);
    this.messages = new ValueBatches(writer, this.keys, headroom);
    this.queues = new QueueStoreRedis({ store: writer, reader }, this.keys, this.alarms, Date.now);
    this.history = new AlarmHistoryRedis(new Store(redis), this.keys);
    this.sessions = new SessionStoreRedis(new Store(redis), this.keys);
  }

  static async open(place: { readonly redis: Redis }): Promise<Stored> {
    const stored = new Stored(place);
    for (const key of [NURSE, WARD]) await stored.sessions.save({ ...RECORD, key });
    return stored;
  }

  append(items: readonly (NewAlarm | NewStateChange)[], ...destinations: string[]) {
    return this.#append(this.alarms, items, destinations);
  }

  appendMessages(messages: readonly NewMessage[], ...destinations: string[]) {
    return this.#append(this.messages, messages, destinations);
  }

  /** Records an alarm of a device in the location, placed as given. */
  async record(sent: object, receivedAtMs: number, where: Where = {}): Promise<Appended> {
    const [appended] = await this.append([this.alarm(sent, receivedAtMs, where)]);
    if (appended === undefined) throw new Error('nothing was appended');
    return appended;
  }

  alarm(sent: object, receivedAtMs: number, where: Where = {}): NewAlarm {
    const { deviceId = this.deviceId, roomId = null, groupId = null, customData = '{}' } = where;
    const placed = { id: deviceId, locationId: LOCATION.id, roomId, customData };
    const inLocation = { locationId: LOCATION.id, name: 'x', order: 3 };
    const device = {
      name: 'Bett 1',
      order: 2,
      createdAtMs: 0,
      secretHash: '',
      limits: {},
      ...placed,
    };
    const room = roomId === null ? null : { id: roomId, groupId, ...inLocation };
    const group = groupId === null ? null : { id: groupId, ...inLocation };
    const received = { deviceId, kind: undefined, receivedAtMs };
    const result = parseAlarm(Buffer.from(JSON.stringify(sent)), received);
    if ('reason' in result) throw new Error(result.reason);
    const context = deviceContext(device, LOCATION, room, group);
    return {
      topic: forwardedTopic(LOCATION.id, deviceId, `alarms/${result.alarm.kind}`),
      payload: Buffer.from(alarmText(result.alarm, context.text, receivedAtMs)),
      alarm: result.alarm,
      context,
      receivedAtMs,
      wallReceivedAtMs: receivedAtMs,
      receipt: undefined,
      locationId: LOCATION.id,
      groupId,
      isSent: false,
    };
  }

  fall(atMs = START_MS): NewAlarm {
    return this.alarm({ kind: 'fall', id: newId() }, atMs);
  }

  /** An alarm without an id, published under a packet identifier. */
  withReceipt(
    packetIdentifier: number,
    payloadDigest: string,
    isSentAgain: boolean,
    deviceId = this.deviceId,
  ): NewAlarm {
    const alarm = this.alarm({ kind: 'fall', id: newId() }, START_MS, { deviceId });
    return { ...alarm, receipt: { packetIdentifier, payloadDigest, isSentAgain } };
  }

  resolve({ alarm }: NewAlarm): NewStateChange {
    const { locationId, deviceId } = this;
    return {
      topic: '',
      payload: Buffer.alloc(0),
      receivedAtMs: START_MS,
      locationId,
      groupId: null,
      onOutcome: () => undefined,
      stateChange: {
        locationId,
        deviceId,
        alarmId: alarm.id,
        state: 'resolved',
        note: undefined,
        by: { id: 't', name: 'Token' },
        atMs: START_MS,
        groupIds: undefined,
        actor: { type: 'access-token', id: 't', address: null, requestId: null },
      },
    };
  }

  /** The alarms in the history, the oldest first. */
  async listed(groupIds?: readonly string[]) {
    const { alarms } = await this.history.page({
      scopes: [{ locationId: LOCATION.id, groupIds }],
      deviceIds: undefined,
      roomIds: undefined,
      kinds: ALARM_KINDS,
      beforeMs: undefined,
      afterMs: undefined,
      order: 'asc',
      limit: 1_000,
      upToSequence: undefined,
      position: undefined,
    });
    return alarms;
  }

  async push(count: number, ...destinations: string[]): Promise<void> {
    const falls = Array.from({ length: count }, (_, index) => this.fall(START_MS + index));
    await this.append(falls, ...destinations);
  }

  async pushMessages(count: number, bytes: number, ...destinations: string[]): Promise<void> {
    const messages = Array.from({ length: count }, (_, n) => numbered(n, 't', START_MS + n, bytes));
    await this.appendMessages(messages, ...destinations);
  }

  async items(key = NURSE): Promise<number[]> {
    return (await this.redis.lrange(this.keys.queue(key), 0, -1)).map(Number);
  }

  settle(items: readonly number[], outcome: Outcome = 'delivered') {
    const settled = items.map((item) => ({ item, payload: { length: 0 } }));
    return this.queues.settle([{ destination: NURSE, log: 'alarms', outcome, items: settled }]);
  }

  async settleMessages(items: readonly QueuedItem[]): Promise<void> {
    const settlement = { destination: NURSE, outcome: 'delivered', items } as const;
    await this.queues.settle([{ ...settlement, log: 'messages' }]);
  }

  async accounts(key = NURSE) {
    const [accounts = NO_ACCOUNTS] = await this.queues.accounts([key]);
    return accounts;
  }

  /** Every key of the site except counters and an empty history. */
  async historyKeys(): Promise<string[]> {
    const prefix = this.keys.sitePrefix;
    const all = (await this.redis.keys(`${prefix}*`)).map((key) => key.slice(prefix.length));
    const isEmpty = (await this.redis.xlen(this.keys.history)) === 0;
    const others = isEmpty ? /^(?:sequence:|history$)/ : /^sequence:/;
    return all.filter((key) => !others.test(key)).sort();
  }

  async #append<Item extends NewMessage>(
    store: BatchStore<Item>,
    items: readonly Item[],
    names: readonly string[],
  ): Promise<Appended[]> {
    const batch = await store.freeze(items, () => names.map((key) => ({ key })), newIdentity());
    const written = await batch.write();
    if ('unusable' in written) throw new Error(`unusable: ${written.unusable.join(', ')}`);
    return [...written.appended];
  }
}

function sequencesOf(appended: readonly { readonly sequence: number; readonly isNew: boolean }[]) {
  return appended.map(({ sequence, isNew }) => (isNew ? sequence : -sequence));
}

/** The payload as text: Vitest is very slow at comparing buffers. */
function textOf({ payload }: { readonly payload: Buffer }): string {
  return payload.toString();
}

function fall() {
  return { kind: 'fall', id: newId() };
}

test('appends 500 alarms in one batch, in order, without gaps', async ({ redis }) => {
  const stored = new Stored(redis);
  const groups = [null, newId(), newId()];
  const rooms = groups.map(() => newId());
  const batches = [0, 500].map((from) =>
    Array.from({ length: 500 }, (_, number) => {
      const at = from + number;
      const where = { roomId: rooms[at % 3] ?? null, groupId: groups[at % 3] ?? null };
      return stored.alarm(fall(), START_MS + at, where);
    }),
  );
  for (const [round, batch] of batches.entries()) {
    const numbers = Array.from({ length: 500 }, (_, at) => round * 500 + at + 1);
    expect(sequencesOf(await stored.append(batch))).toEqual(numbers);
  }
  const entries = await stored.alarms.read(0, 2_000);
  expect(entries.map(textOf)).toEqual(batches.flat().map(textOf));
  const ids = (await stored.listed()).map(({ id }) => id);
  expect(ids).toEqual(batches.flat().map(({ alarm }) => alarm.id));
  expect(await stored.listed([groups[1] ?? ''])).toHaveLength(333);
});

test('records a repeated alarm once, in the same batch and in a later one', async ({ redis }) => {
  const stored = new Stored(redis);
  const [first, second, third] = [fall(), fall(), fall()];
  const roomId = newId();
  const batch = [
    stored.alarm(first, START_MS, { roomId }),
    stored.alarm(second, START_MS + 1),
    stored.alarm(first, START_MS + 2, { roomId: newId(), customData: '{"a":1}' }),
    stored.alarm(first, START_MS + 3, { deviceId: newId() }),
  ];
  expect(sequencesOf(await stored.append(batch))).toEqual([1, 2, -1, 3]);
  const again = [
    stored.alarm(second, START_MS + 4, { roomId: newId() }),
    stored.alarm(third, START_MS + 5),
    stored.alarm(third, START_MS + 6),
    stored.alarm(first, START_MS + 7),
  ];
  expect(sequencesOf(await stored.append(again))).toEqual([-2, 4, -4, -1]);

  const alarms = (await stored.listed()).filter(({ device }) => device.id === stored.deviceId);
  expect(alarms.map(({ id, receivedAtMs }) => [id, receivedAtMs - START_MS])).toEqual([
    [first.id, 0],
    [second.id, 1],
    [third.id, 5],
  ]);
  expect(alarms.map(({ room }) => room?.id)).toEqual([roomId, undefined, undefined]);
  expect(await stored.alarms.read(0, 10)).toHaveLength(4);
  expect(await stored.alarms.lastSequence()).toBe(4);
});

test('records an alarm again when another alarm has its number', async ({ redis }) => {
  const stored = new Stored(redis);
  const [lost, other] = [fall(), fall()];
  await stored.record(lost, START_MS);
  const { history } = stored.keys;
  await stored.redis.del(history, stored.keys.logSequence('alarms'));
  expect((await stored.record(other, START_MS)).sequence).toBe(1);
  expect((await stored.record(lost, START_MS)).isNew).toBe(true);
  expect((await stored.record(lost, START_MS)).isNew).toBe(false);
});

test('writes nothing when the store has lost what the gateway knows about, and returns the last number', async ({
  redis,
}) => {
  const stored = new Stored(redis);
  await stored.record(fall(), START_MS);
  const identity = { ...newIdentity(), after: 2 };
  const batch = await stored.alarms.freeze([stored.alarm(fall(), START_MS)], () => [], identity);
  const error = await batch.write().catch((thrown: unknown) => thrown);
  expect(lastLeft(error)).toBe(1);
  expect(await stored.alarms.lastSequence()).toBe(1);
});

test('detects a retransmission by its receipt, in the same batch and in a later one', async ({
  redis,
}) => {
  const stored = new Stored(redis);
  const other = newId();
  const batch = [
    stored.withReceipt(7, 'a', false),
    stored.withReceipt(7, 'a', true),
    // Another payload, another device, or no DUP.
    stored.withReceipt(7, 'b', true),
    stored.withReceipt(7, 'a', true, other),
    stored.withReceipt(8, 'a', false),
    stored.withReceipt(8, 'a', false),
  ];
  expect(sequencesOf(await stored.append(batch))).toEqual([1, -1, 2, 3, 4, 5]);
  const again = [
    stored.withReceipt(7, 'b', true),
    stored.withReceipt(8, 'a', true),
    stored.withReceipt(7, 'a', true, other),
    stored.withReceipt(7, 'a', true),
    stored.withReceipt(9, 'a', true),
  ];
  expect(sequencesOf(await stored.append(again))).toEqual([-2, -5, -3, 6, 7]);
  expect(await stored.redis.ttl(stored.keys.receipts(stored.deviceId))).toBeGreaterThan(0);
});

test('takes a packet with DUP for a new alarm five minutes after the last one with its packet identifier', async ({
  redis,
}) => {
  const stored = new Stored(redis);
  const after = (minutes: number) => {
    const alarm = stored.withReceipt(7, 'a', minutes > 0);
    return { ...alarm, receivedAtMs: alarm.receivedAtMs + minutes * 60_000 };
  };
  expect(sequencesOf(await stored.append([after(0)]))).toEqual([1]);
  expect(sequencesOf(await stored.append([after(4)]))).toEqual([-1]);
  expect(sequencesOf(await stored.append([after(6)]))).toEqual([2]);
});

test('stores the packet identifiers of QoS 2 publishes with the batch', async ({ redis }) => {
  const stored = new Stored(redis);
  const sent = fall();
  const received = (packetIdentifier: number) => ({ session: 'bed', packetIdentifier });
  await stored.append([
    { ...stored.alarm(sent, START_MS), received: received(1) },
    // A repeated alarm, too.
    { ...stored.alarm(sent, START_MS), received: received(65_535) },
    stored.alarm(fall(), START_MS),
  ]);
  await stored.appendMessages([
    { ...stored.alarm(fall(), START_MS), received: { ...received(2), session: 'door' } },
  ]);
  expect((await stored.redis.hkeys(stored.keys.received('bed'))).sort()).toEqual(['1', '65535']);
  expect(await stored.redis.hkeys(stored.keys.received('door'))).toEqual(['2']);
});

test('writes nothing of a batch when a key has the wrong type', async ({ redis }) => {
  const stored = new Stored(redis);
  await stored.redis.set(stored.keys.received('bed'), 'text');
  const received = { session: 'bed', packetIdentifier: 1 };
  const batch = [stored.alarm(fall(), START_MS), { ...stored.alarm(fall(), START_MS), received }];
  await expect(stored.append(batch)).rejects.toThrow('WRONGTYPE');
  await expect(stored.appendMessages(batch)).rejects.toThrow('WRONGTYPE');
  expect(await stored.historyKeys()).toEqual(['broker:incoming:bed']);
  expect(await stored.alarms.lastSequence()).toBe(0);
  expect(await stored.redis.exists(stored.keys.logSequence('messages'))).toBe(0);
});

test.for([
  [
    "the device's index",
    ({ keys, locationId, deviceId }) => keys.deviceAlarms(locationId, deviceId),
  ],
  ["the location's index", ({ keys, locationId }) => `${keys.alarmIndexesOf(locationId)}:${FALL}`],
  [
    'the index of open alarms',
    ({ keys, locationId }) => `${keys.openAlarmIndexesOf(locationId)}:${FALL}`,
  ],
  ['the set of groups', ({ keys, locationId }) => keys.alarmGroups(locationId)],
  ['the hash of receipts', ({ keys, deviceId }) => keys.receipts(deviceId)],
] satisfies [string, (stored: Stored) => string][])(
  'writes nothing of an alarm when %s has another type',
  async ([, keyOf], { redis }) => {
    const stored = new Stored(redis);
    const key = keyOf(stored);
    await stored.redis.set(key, 'text');
    const alarm = stored.withReceipt(7, 'a', false);
    await expect(stored.append([alarm])).rejects.toThrow('WRONGTYPE');
    expect(await stored.historyKeys()).toEqual([key.slice(stored.keys.sitePrefix.length)]);
    expect(await stored.alarms.lastSequence()).toBe(0);
  },
);

type Damage = (stored: Stored, key: string) => Promise<unknown>;

test.for<[string, Damage]>([
  ['lost', (stored, key) => stored.redis.del(key)],
  ['behind', (stored, key) => stored.redis.set(key, 3)],
  ['no number', (stored, key) => stored.redis.set(key, 'x')],
  [
    'no text',
    async (stored, key) => {
      await stored.redis.del(key);
      await stored.redis.rpush(key, 'x');
    },
  ],
])('continues after the newest entry when the counter is %s', async ([, damage], { redis }) => {
  const stored = new Stored(redis);
  const append = (count: number) =>
    stored.append(Array.from({ length: count }, (_one, at) => stored.alarm(fall(), START_MS + at)));
  await stored.redis.hset(stored.keys.session(NURSE), 'owner', 'token:1');
  const appendMessages = () => stored.appendMessages([stored.alarm(fall(), START_MS)], NURSE);
  await append(5);
  for (let count = 0; count < 5; count++) await appendMessages();
  // Everything has been delivered, but the stream knows its last number.
  await stored.redis.xtrim(stored.keys.values(NURSE), 'MAXLEN', 0);
  await damage(stored, stored.keys.logSequence('alarms'));
  await damage(stored, stored.keys.logSequence('messages'));
  expect(await stored.listed()).toHaveLength(5);
  expect(sequencesOf(await append(2))).toEqual([6, 7]);
  expect(sequencesOf(await appendMessages())).toEqual([6]);
  expect(await stored.alarms.lastSequence()).toBe(7);
  expect(await stored.listed()).toHaveLength(7);
});

test("continues from the counter when the log's last number is lower", async ({ redis }) => {
  const stored = new Stored(redis);
  await stored.redis.set(stored.keys.logSequence('alarms'), 1_000_000);
  expect(await stored.record(fall(), START_MS)).toEqual({ sequence: 1_000_001, isNew: true });
  expect(await stored.alarms.read(0, 10)).toMatchObject([{ sequence: 1_000_001 }]);
});

test('pushes an alarm onto the queue of each destination once, in the write that records it', async ({
  redis,
}) => {
  const stored = await Stored.open(redis);
  const alarm = stored.fall();
  const batch = [alarm, stored.fall(), alarm];
  await stored.append(batch, NURSE, WARD);
  await stored.append(batch, NURSE, WARD);
  for (const key of [NURSE, WARD]) {
    const page = await stored.queues.page('alarms', key, 0, 10);
    expect(page.entries.map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect((await stored.accounts(key)).alarms).toMatchObject({ accepted: 2, queued: 2 });
  }
});

test('does not read a queue of a store that has lost alarms, and returns the newest number left', async ({
  redis,
}) => {
  const stored = await Stored.open(redis);
  await stored.append([stored.fall()], NURSE);
  const tail = new LogTail(2);
  const error = await stored.queues
    .page('alarms', NURSE, 0, 10, tail)
    .catch((thrown: unknown) => thrown);
  expect(lastLeft(error)).toBe(1);
  tail.cutAfter(1);
  expect((await stored.queues.page('alarms', NURSE, 0, 10, tail)).entries).toHaveLength(1);
});

test('pushes a change of state, too, to those who are to see it', async ({ redis }) => {
  const stored = await Stored.open(redis);
  const alarm = stored.fall();
  await stored.append([alarm]);
  const { locationId, deviceId } = stored;
  const asked: string[] = [];
  const identity = newIdentity();
  const batch = await stored.alarms.freeze(
    [stored.resolve(alarm)],
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
  expect(await stored.items()).toEqual([itemOf(2, identity.tag)]);
});

test.for<[string, (stored: Stored) => Promise<unknown>]>([
  ['gone', (stored) => stored.redis.del(stored.keys.session(NURSE))],
  ['a text', (stored) => stored.redis.set(stored.keys.session(NURSE), 'x')],
  ['with a queue that is a text', (stored) => stored.redis.set(stored.keys.queue(NURSE), 'x')],
  ['with a stream that is a text', (stored) => stored.redis.set(stored.keys.values(NURSE), 'x')],
  [
    'with a count that is none',
    (stored) => stored.redis.hset(stored.keys.session(NURSE), 'alarms.accepted', 'many'),
  ],
  [
    'with a count of messages that is none',
    (stored) => stored.redis.hset(stored.keys.session(NURSE), 'messages.bytes', '1.5'),
  ],
])(
  'writes nothing for a destination that is %s, until its record is mended',
  async ([, damage], { redis }) => {
    const stored = await Stored.open(redis);
    await damage(stored);
    const append = async () => {
      await stored.push(1, WARD, NURSE);
      await stored.pushMessages(1, 10, WARD, NURSE);
    };
    await expect(append()).rejects.toThrow(`unusable: ${NURSE}`);
    expect((await stored.accounts(WARD)).messages.accepted).toBe(0);
    await stored.sessions.mend({ ...RECORD, key: NURSE });
    await stored.push(1, WARD, NURSE);
    await stored.pushMessages(1, 10, WARD, NURSE);
    const { alarms, messages } = await stored.accounts();
    expect(alarms).toMatchObject({ delivered: 0, expired: 0, dropped: 0 });
    expect([alarms.accepted, messages.accepted]).toEqual([alarms.queued, messages.queued]);
    expect((await stored.sessions.load()).sessions.map(({ key }) => key).sort()).toEqual([
      NURSE,
      WARD,
    ]);
  },
);

test('settles what was acknowledged, in any order and once', async ({ redis }) => {
  const stored = await Stored.open(redis);
  await stored.push(20, NURSE);
  const items = await stored.items();
  const [first = 0, second = 0, ...others] = items;
  const last = others.at(-1) ?? 0;
  const out = [others[3] ?? 0, second, first, last];
  expect(await stored.settle(out)).toMatchObject([{ alarms: 16 }]);
  expect(await stored.settle(out)).toMatchObject([{ alarms: 16 }]);
  expect(await stored.items()).toEqual(items.filter((item) => !out.includes(item)));
  await stored.settle([others[0] ?? 0], 'refused');
  expect((await stored.accounts()).alarms).toMatchObject({
    accepted: 20,
    delivered: 4,
    queued: 15,
    dropped: 1,
    reasons: { refused: 1 },
  });
});

test('settles and counts even when the keys of the proofs have another type', async ({ redis }) => {
  const stored = await Stored.open(redis);
  await stored.push(2, NURSE);
  const [one = 0, two = 0] = await stored.items();
  await stored.redis.set(stored.keys.destinationNumbers, 'overwritten');
  await stored.settle([one]);
  await stored.redis.del(stored.keys.destinationNumbers);
  await stored.redis.hset(`${stored.keys.proofPrefix}0`, 'over', 'written');
  await stored.settle([two]);
  expect((await stored.accounts()).alarms).toMatchObject({ accepted: 2, delivered: 2, queued: 0 });
});

test('does not settle another alarm that took the number after a failover', async ({ redis }) => {
  const stored = await Stored.open(redis);
  await stored.push(1, NURSE);
  const [lost = 0] = await stored.items();
  // The store goes back to a state before the alarm; the next alarm gets its number.
  await stored.redis.del(
    stored.keys.queue(NURSE),
    stored.keys.history,
    stored.keys.logSequence('alarms'),
  );
  await stored.push(1, NURSE);
  const [found = 0] = await stored.items();
  expect(Math.floor(found / 65_536)).toBe(Math.floor(lost / 65_536));
  await stored.settle([lost]);
  expect(await stored.items()).toEqual([found]);
});

test('does not search a long queue for removed items', async ({ redis }) => {
  const stored = await Stored.open(redis);
  const queue = stored.keys.queue(NURSE);
  const items = Array.from({ length: 50_000 }, (_, index) => itemOf(1_000 + index, 0));
  await stored.redis.rpush(queue, ...items);
  await stored.redis.config('RESETSTAT');
  await stored.settle(Array.from({ length: 500 }, (_, index) => itemOf(index, 0)));
  const stats = await stored.redis.info('commandstats');
  expect(stats).not.toContain('cmdstat_lrem');
  expect(await stored.redis.llen(queue)).toBe(items.length);
});

test('does not hide other sessions when a count of one is invalid', async ({ redis }) => {
  const stored = await Stored.open(redis);
  await stored.redis.hset(stored.keys.session(NURSE), 'alarms.delivered', 'many');
  const accounts = await stored.queues.accounts([NURSE, WARD]);
  expect(accounts).toMatchObject([undefined, { alarms: { accepted: 0 } }]);
});

test('skips items that somebody else has pushed onto a queue', async ({ redis }) => {
  const stored = await Stored.open(redis);
  await stored.push(2, NURSE);
  await stored.redis.rpush(stored.keys.queue(NURSE), 'garbage');
  await stored.push(2, NURSE);
  const page = await stored.queues.page('alarms', NURSE, 0, 10);
  expect(page.entries.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
  expect(page.missing).toEqual([]);
});

test('writes nothing of a change of state when an index has another type', async ({ redis }) => {
  const stored = await Stored.open(redis);
  const alarm = stored.fall();
  await stored.append([alarm]);
  const [open = ''] = await stored.redis.keys(
    `${stored.keys.openAlarmIndexesOf(stored.locationId)}*`,
  );
  await stored.redis.set(open, 'text');
  await expect(stored.append([stored.resolve(alarm)])).rejects.toThrow('WRONGTYPE');
  expect(await stored.redis.xlen(stored.keys.history)).toBe(1);
  expect(await stored.redis.exists(stored.keys.auditChanges)).toBe(0);
});

test('settles nothing for a deleted destination, and leaves nothing behind', async ({ redis }) => {
  const stored = await Stored.open(redis);
  await stored.push(2, NURSE);
  const items = await stored.items();
  await stored.sessions.delete(NURSE);
  expect(await stored.settle(items)).toEqual([undefined]);
  expect(await stored.queues.keepBounds(NURSE, NO_BOUNDS, ANY)).toBeUndefined();
  expect(await stored.queues.accounts([NURSE])).toEqual([undefined]);
  const left = await stored.redis.keys(`${stored.keys.sitePrefix}*${NURSE}`);
  expect(left).toEqual([]);
});

test('returns its accounts while the settling connection is down, as after a failover at a start', async ({
  redis,
}) => {
  const stored = await Stored.open(redis);
  await stored.push(2, NURSE);
  const away = new Redis({
    path: '/nonexistent.sock',
    lazyConnect: true,
    enableOfflineQueue: false,
  });
  const stores = { store: new Store(away), reader: new Store(stored.redis, { isPatient: true }) };
  const queues = new QueueStoreRedis(stores, stored.keys, stored.alarms, Date.now);
  const [accounts] = await queues.accounts([NURSE]);
  expect(accounts?.alarms.accepted).toBe(2);
  away.disconnect();
});

test('expires what is too old, and counts an alarm without a record as lost', async ({ redis }) => {
  const stored = await Stored.open(redis);
  await stored.push(1_200, NURSE);
  await stored.pushMessages(10, 100, NURSE);
  await stored.redis.xdel(stored.keys.history, '3-0', '4-0');
  const bounds = { ...NO_BOUNDS, oldestMs: START_MS + 1_100 };
  const take = () => stored.queues.keepBounds(NURSE, bounds, ANY);
  expect(await take()).toMatchObject({ lost: 2, hasMore: true, backlog: { alarms: 700 } });
  expect(await take()).toMatchObject({ lost: 0, hasMore: true, backlog: { alarms: 200 } });
  expect(await take()).toEqual({
    lost: 0,
    hasMore: false,
    backlog: { alarms: 100, messages: 0, messageBytes: 0 },
  });
  const { alarms, messages } = await stored.accounts();
  expect(alarms).toMatchObject({ expired: 1_098, dropped: 2, reasons: { lost: 2 }, queued: 100 });
  expect(messages).toMatchObject({ expired: 10, queued: 0 });
});

test('drops the oldest messages beyond a bound, except those being sent or not yet announced', async ({
  redis,
}) => {
  const stored = await Stored.open(redis);
  await stored.pushMessages(20, 100, NURSE);
  const { entries } = await stored.queues.page('messages', NURSE, 0, 20);
  const bounds = { ...NO_BOUNDS, maxMessages: 5 };
  const range = { after: entries[2]?.item ?? 0, upTo: entries[9]?.sequence ?? 0 };
  expect(await stored.queues.keepBounds(NURSE, bounds, range)).toMatchObject({
    backlog: { messages: 13, messageBytes: 1_300 },
  });
  const left = await stored.queues.page('messages', NURSE, 0, 20);
  expect(left.entries).toEqual([...entries.slice(0, 3), ...entries.slice(10)]);
  expect(await stored.queues.keepBounds(NURSE, bounds, ANY)).toMatchObject({
    backlog: { messages: 5, messageBytes: 500 },
  });
  expect((await stored.accounts()).messages).toMatchObject({
    accepted: 20,
    dropped: 15,
    queued: 5,
  });
});

test.for([undefined, START_MS + 60_000])(
  'counts the properties of messages towards the byte limit, with the expiry %s',
  async (expiresAtMs, { redis }) => {
    const stored = await Stored.open(redis);
    const properties = { fields: Buffer.alloc(1_000), expiresAtMs, isRetained: false };
    const sent = Array.from({ length: 4 }, (_, n) => {
      return { ...numbered(n, 't', START_MS, 100), properties };
    });
    await stored.appendMessages(sent, NURSE);
    const { entries } = await stored.queues.page('messages', NURSE, 0, 10);
    const [each = 0] = entries.map(bytesOfMessage);
    expect(each).toBeGreaterThan(1_100);
    const bounded = await stored.queues.keepBounds(NURSE, NO_BOUNDS, ANY);
    expect(bounded?.backlog.messageBytes).toBe(4 * each);
    const bounds = { ...NO_BOUNDS, maxMessageBytes: 2 * each };
    expect(await stored.queues.keepBounds(NURSE, bounds, ANY)).toMatchObject({
      backlog: { messages: 2, messageBytes: 2 * each },
    });
    expect(await stored.sessions.mend({ ...RECORD, key: NURSE })).toMatchObject({
      messageBytes: 2 * each,
    });
    await stored.settleMessages(entries.slice(3));
    expect(await stored.queues.keepBounds(NURSE, NO_BOUNDS, ANY)).toMatchObject({
      backlog: { messages: 1, messageBytes: each },
    });
  },
);

test('adds messages to the streams of their destinations once, however often a batch is sent', async ({
  redis,
}) => {
  const stored = await Stored.open(redis);
  const messages = [numbered(1, 't', START_MS, 100), numbered(2, 't', START_MS, 50)];
  const batch = await stored.messages.freeze(messages, () => [{ key: NURSE }], newIdentity());
  const written = await batch.write();
  expect(await batch.write()).toEqual(written);
  expect(written).toMatchObject({
    appended: [{ sequence: 1 }, { sequence: 2 }],
    backlogs: new Map([[NURSE, { messages: 2, messageBytes: 150 }]]),
  });
  const { entries } = await stored.queues.page('messages', NURSE, 0, 10);
  await stored.settleMessages(
    entries.slice(0, 1).map(({ item }) => ({ item, payload: { length: 100 } })),
  );
  await stored.settleMessages(
    entries.slice(0, 1).map(({ item }) => ({ item, payload: { length: 100 } })),
  );
  expect((await stored.accounts()).messages).toMatchObject({
    accepted: 2,
    delivered: 1,
    queued: 1,
  });
  const rest = await stored.queues.page('messages', NURSE, entries[0]?.item ?? 0, 10);
  expect(rest.entries).toEqual(entries.slice(1));
});

test('reads a queue page by page, whatever has been removed from it', async ({ redis }) => {
  const stored = await Stored.open(redis);
  const taken = fc.array(fc.nat(99), { maxLength: 100 });
  await stored.push(100, NURSE);
  const all = await stored.items();
  await fc.assert(
    fc.asyncProperty(taken, fc.integer({ min: 1, max: 60 }), async (gone, count) => {
      const left = all.filter((_, index) => !gone.includes(index));
      await stored.redis.del(stored.keys.queue(NURSE));
      if (left.length > 0) await stored.redis.rpush(stored.keys.queue(NURSE), ...left);
      const read: number[] = [];
      for (let isEnd = false; !isEnd; ) {
        const page = await stored.queues.page('alarms', NURSE, read.at(-1) ?? 0, count);
        read.push(...page.entries.map(({ item }) => item));
        expect(page.missing).toEqual([]);
        ({ isEnd } = page);
      }
      expect(read).toEqual(left);
    }),
    { numRuns: 60 },
  );
});

test('returns when the oldest item was received, and the oldest alarm of all queues', async ({
  redis,
}) => {
  const stored = await Stored.open(redis);
  const { queues } = stored;
  expect(await queues.oldestReceivedAtMs(NURSE)).toBeUndefined();
  expect(await queues.oldestQueued()).toBe(Number.POSITIVE_INFINITY);
  await stored.push(1);
  await stored.push(2, WARD);
  await stored.push(1, NURSE);
  await stored.pushMessages(1, 10, NURSE);
  expect(await queues.oldestReceivedAtMs(NURSE)).toBe(START_MS);
  expect(await queues.oldestQueued()).toBe(2);
});
