/** Parts of delivery with a store in memory and a clock that stands still: what a session is, and whose queue grows. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { backlogFaults } from '../../src/delivery/accounts.js';
import { LiveCopies } from '../../src/delivery/live-copies.js';
import type { NewAlarm, NewEntry } from '../../src/delivery/new-entry.js';
import { Outlet } from '../../src/delivery/outlet.js';
import { Router } from '../../src/delivery/router.js';
import { PERSISTENT, type SessionOwner, sessionKey } from '../../src/delivery/sessions/session.js';
import { Sessions } from '../../src/delivery/sessions/sessions.js';
import { Writer } from '../../src/delivery/writer.js';
import { parseAlarm } from '../../src/domain/alarm.js';
import { newId } from '../../src/domain/ids.js';
import { deviceContext } from '../../src/domain/messages.js';
import type { MessageProperties } from '../../src/mqtt/message-properties.js';
import { Health } from '../../src/site/health/health.js';
import type { DeadLetter } from '../../src/store/lists.js';
import { faultTexts } from '../harness/described/fault-texts.js';
import { Connection, LIMITS, numbered, numberIn, StoreInMemory, silent } from './in-memory.js';

const FORGET_AFTER_MS = 7 * 24 * 3_600_000;
const A_MINUTE_MS = 60_000;
const owner: SessionOwner = { key: 'token:1', mayReceive: () => true };
const keyOf = (clientId: string) => sessionKey(owner.key, clientId);

let store: StoreInMemory;
let router: Router;
let sessions: Sessions;
let writer: Writer;
let nowMs = 1_000_000_000_000;

async function begin(): Promise<void> {
  router = new Router({
    newestEntry: 0,
    onLost: () => undefined,
    onWentBack: () => undefined,
    mend: (key) => sessions.mend(key),
    queues: store,
    log: silent,
    now: () => nowMs,
    elapsedSinceMs: () => 0,
  });
  sessions = new Sessions({
    store,
    router,
    log: silent,
    now: () => nowMs,
    ownerOf: (key) => (key === owner.key ? owner : undefined),
    limits: { ...LIMITS, maxAgeMs: FORGET_AFTER_MS },
    forgetAfterMs: FORGET_AFTER_MS,
  });
  writer = new Writer({
    store,
    router,
    onOutage: () => undefined,
    onRefused: () => undefined,
    sendLive: () => undefined,
    log: silent,
  });
  await sessions.start();
}

/** Moves the clock, and the timers far enough to notice. */
async function pass(ms: number): Promise<void> {
  nowMs += ms;
  await vi.advanceTimersByTimeAsync(A_MINUTE_MS);
}

function append(n: number, topic: string): Promise<boolean> {
  return new Promise((resolve) => writer.append(numbered(n, topic, nowMs), resolve));
}

beforeEach(async () => {
  vi.useFakeTimers({
    toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'],
  });
  store = new StoreInMemory();
  await begin();
});

afterEach(async () => {
  await sessions.stop();
  vi.useRealTimers();
});

test('a session is forgotten when it has been away for too long, and not a moment earlier', async () => {
  const session = sessions.open('nurse', owner, PERSISTENT);
  const { consumer } = session;
  await sessions.subscribe(keyOf('nurse'), [{ filter: 'a/#', qos: 1 }]);
  const connection = new Connection();
  consumer.connect(connection);
  await pass(2 * FORGET_AFTER_MS);
  consumer.disconnect(connection);
  sessions.closed(session);
  await pass(FORGET_AFTER_MS);
  expect(sessions.get(keyOf('nurse'))).toBe(session);
  await pass(1);
  expect(sessions.get(keyOf('nurse'))).toBeUndefined();
  expect(store.records.size).toBe(0);
  expect(router.consumers.size).toBe(0);
  expect(router.routes.match('a/x')).toEqual([]);
});

test.each([undefined, 60])(
  'a session does not expire while its client is back, nor after a crash then: expiry %s',
  async (sessionExpirySeconds) => {
    const start = { ...PERSISTENT, sessionExpirySeconds };
    sessions.closed(sessions.open('nurse', owner, start));
    await pass(30_000);
    sessions.open('nurse', owner, start);
    await pass(2 * FORGET_AFTER_MS);
    expect(sessions.get(keyOf('nurse'))).toBeDefined();
    await sessions.stop();
    await begin();
    expect(sessions.open('nurse', owner, start).isResumed).toBe(true);
  },
);

test('a session keeps its age across a restart, and counts as away from then if it was connected', async () => {
  const { consumer: connected } = sessions.open('connected', owner, PERSISTENT);
  connected.connect(new Connection());
  sessions.closed(sessions.open('away', owner, PERSISTENT));
  sessions.saveAll();
  await pass(FORGET_AFTER_MS - 1);
  await sessions.stop();
  await begin();
  await pass(2);
  expect(sessions.get(keyOf('away'))).toBeUndefined();
  expect(sessions.get(keyOf('connected'))).toBeDefined();
  await pass(FORGET_AFTER_MS);
  expect(sessions.get(keyOf('connected'))).toBeUndefined();
});

test('sessions are stored again when the store has lost one, and deleted with their principal', async () => {
  for (const clientId of ['one', 'other']) sessions.open(clientId, owner, PERSISTENT);
  sessions.open('gone', { ...owner, key: 'token:2' }, PERSISTENT);
  await vi.advanceTimersByTimeAsync(0);
  expect(store.records.size).toBe(3);
  store.records.clear();
  await sessions.mend(keyOf('one'));
  await vi.waitFor(() => expect(store.records.size).toBe(3));
  await sessions.stop();
  await begin();
  expect([...store.records.keys()]).toEqual([keyOf('one'), keyOf('other')]);
});

test('names the consumers while their backlogs are more than half full', async () => {
  const names = ['one', 'two', 'three', 'four', 'five'];
  const faults = () => {
    const health = new Health();
    health.replace('backlogs', backlogFaults(router.consumers));
    return faultTexts(health.shown());
  };
  for (const name of names) {
    sessions.open(name, owner, PERSISTENT);
    const filters = name === 'one' ? ['a', 'b'] : ['b'];
    await sessions.subscribe(
      keyOf(name),
      filters.map((filter) => ({ filter, qos: 1 })),
    );
  }
  for (let n = 0; n < LIMITS.maxQueued / 2; n++) await append(n, 'a');
  expect(faults()).toEqual([]);
  await append(100, 'a');
  expect(faults()).toEqual(['A queue is more than half full: session one']);
  for (let n = 200; n < 210; n++) await append(n, 'b');
  expect(faults()).toEqual([
    'A queue is more than half full: session one',
    'A queue is more than half full: session two',
    'A queue is more than half full: session three',
    'A queue is more than half full (2 more).',
  ]);
});

test('a message that cannot be written holds up neither its receiver nor others, and none is lost', async () => {
  const connections: Connection[] = [];
  for (const name of ['one', 'other']) {
    const { consumer } = sessions.open(name, owner, PERSISTENT);
    await sessions.subscribe(keyOf(name), [{ filter: '+', qos: 1 }]);
    const connection = new Connection();
    consumer.connect(connection);
    connections.push(connection);
  }
  const [one, other] = connections;
  const send = one?.send.bind(one);
  if (one === undefined || send === undefined) throw new Error('no connection');
  let unusable = [1];
  one.send = (publish) => {
    if (unusable.includes(numberIn(publish))) throw new Error('cannot be encoded');
    return send(publish);
  };
  for (const n of [1, 2]) await append(n, 'a');
  await vi.waitFor(() => expect(one.sent.map(numberIn)).toEqual([2]));
  expect(other?.sent.map(numberIn)).toEqual([1, 2]);
  unusable = [1, 3, 4];
  for (const n of [3, 4]) await append(n, 'a');
  await vi.waitFor(() => expect(other?.sent.map(numberIn)).toEqual([1, 2, 3, 4]));
  const { consumer } = sessions.open('one', owner, PERSISTENT);
  const next = new Connection();
  consumer.connect(next);
  await vi.waitFor(() => expect(next.sent.map(numberIn)).toEqual([1, 2, 3, 4]));
});

test('a session that never reads what it is sent does not use up the packet identifiers', async () => {
  const { consumer } = sessions.open('nurse', owner, PERSISTENT);
  await sessions.subscribe(keyOf('nurse'), [{ filter: '+', qos: 1 }]);
  const given = new Set<number>();
  let n = 0;
  for (let cycle = 0; cycle < 200; cycle++) {
    const connection = new Connection();
    consumer.connect(connection);
    for (let queued = 0; queued < LIMITS.maxQueued; queued++) queueTelemetry(n++);
    for (let turn = 0; connection.sent.length === 0 && turn < 50; turn++) await Promise.resolve();
    for (const { messageId } of connection.sent) given.add(messageId);
    consumer.disconnect(connection);
    // What was in flight is the oldest, and dropped for this.
    for (let queued = 0; queued < LIMITS.maxQueued; queued++) queueTelemetry(n++);
  }
  expect(given.size).toBeGreaterThan(100);
  expect(consumer.window.reservedCount).toBeLessThanOrEqual(LIMITS.maxInFlight);
});

/** An alarm, which may go out live. */
function alarmOf(n: number, topic: string): NewAlarm {
  const event: NewEntry = numbered(n, topic, nowMs);
  const { payload, receivedAtMs, locationId, groupId } = event;
  const origin = { deviceId: newId(), kind: undefined, receivedAtMs: nowMs };
  const result = parseAlarm(Buffer.from('{"kind":"fall"}'), origin);
  if ('reason' in result) throw new Error(result.reason);
  const device = { id: origin.deviceId, name: '', order: 0, createdAtMs: 0, secretHash: '' };
  const at = { locationId: 'l', roomId: null, customData: '{}' };
  const home = { id: 'l', name: '', order: 0, createdAtMs: 0, customData: '{}' };
  const context = deviceContext({ ...device, ...at }, home, null, null);
  const common = { topic, payload, receivedAtMs, locationId, groupId };
  const { alarm } = result;
  return { ...common, alarm, context, wallReceivedAtMs: nowMs, receipt: undefined, isSent: false };
}

async function subscribed(name: string, qos: 0 | 1 = 1) {
  const { consumer } = sessions.open(name, owner, PERSISTENT);
  await sessions.subscribe(keyOf(name), [{ filter: '#', qos }]);
  return consumer;
}

function queueTelemetry(n: number, properties?: MessageProperties): void {
  const payload = Buffer.from(`{"data":{"n":${n}}}`);
  const about = { topic: 'b', locationId: null, groupId: null };
  router.queue({ ...about, payload, receivedAtMs: nowMs, properties });
}

test('a page ends at the last announced entry: the store may still lose what comes after it', async () => {
  const consumer = await subscribed('nurse');
  let answer: () => void = () => undefined;
  store.answer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const stored = append(1, 'a');
  await vi.waitFor(() => expect(store.stored.entries).toHaveLength(1));
  const connection = new Connection();
  consumer.connect(connection);
  await vi.waitFor(() => expect(consumer.lag).toBe(0));
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(connection.sent).toEqual([]);
  answer();
  expect(await stored).toBe(true);
  await vi.waitFor(() => expect(connection.sent.map(numberIn)).toEqual([1]));
});

test('what is settled while a page is read does not come again from that page', async () => {
  const consumer = await subscribed('nurse');
  const connection = new Connection();
  consumer.connect(connection);
  await append(1, 'a');
  await vi.waitFor(() => expect(connection.sent).toHaveLength(1));
  let answer: () => void = () => undefined;
  store.pageAnswer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  consumer.restart();
  await Promise.resolve();
  consumer.acknowledge(connection.sent[0]?.messageId ?? 0);
  await vi.advanceTimersByTimeAsync(50);
  expect(store.stored.queues.get(keyOf('nurse'))).toEqual([]);
  answer();
  await append(2, 'a');
  await vi.waitFor(() => expect(connection.sent.map(numberIn)).toEqual([1, 2]));
});

test('telemetry that waits does not go before the alarms that wait', async () => {
  const consumer = await subscribed('nurse');
  await append(1, 'a');
  queueTelemetry(2);
  const connection = new Connection();
  consumer.connect(connection);
  await vi.waitFor(() => expect(connection.sent.map(numberIn)).toEqual([1, 2]));
});

test('what expires in memory counts as expired, and what nobody may see is queued for nobody', async () => {
  const consumer = await subscribed('nurse');
  queueTelemetry(1, { fields: Buffer.alloc(0), expiresAtMs: nowMs + 1, isRetained: false });
  nowMs += 2;
  consumer.connect(new Connection());
  const counted = { accepted: 1, expired: 1, delivered: 0 };
  await vi.waitFor(() => expect(consumer.accounts.messages).toMatchObject(counted));
  const blind = { key: 'token:2', mayReceive: () => false };
  sessions.open('blind', blind, PERSISTENT);
  await sessions.subscribe(sessionKey(blind.key, 'blind'), [{ filter: '#', qos: 1 }]);
  await append(3, 'a');
  expect([...store.stored.queues.keys()]).toEqual([keyOf('nurse')]);
});

test('guarantee 4: each connection gets one live copy, also that of a session which comes back', async () => {
  const consumer = await subscribed('nurse');
  const copies = new LiveCopies(writer, router);
  copies.start();
  const [first, second] = [new Connection(), new Connection()];
  consumer.connect(first);
  await Promise.resolve();
  store.answer = new Promise(() => undefined);
  writer.append(alarmOf(1, 'a'), () => undefined);
  const looks = async () => {
    await vi.advanceTimersByTimeAsync(1_000);
  };
  await looks();
  await looks();
  expect(first.sent.map(({ qos }) => qos)).toEqual([0]);
  consumer.connect(second);
  await looks();
  expect(second.sent.map(({ qos }) => qos)).toEqual([0]);
  expect(first.sent).toHaveLength(1);
  copies.stop();
});

test('an alarm that the store has lost is stored again, and does not go out live once more', async () => {
  const consumer = await subscribed('nurse');
  const copies = new LiveCopies(writer, router);
  copies.start();
  const connection = new Connection();
  consumer.connect(connection);
  await new Promise((resolve) => writer.append(alarmOf(1, 'a'), resolve));
  await vi.waitFor(() => expect(connection.sent).toHaveLength(1));
  store.stored = { entries: [], queues: new Map() };
  store.answer = new Promise(() => undefined);
  writer.check();
  await vi.waitFor(() => expect(store.stored.entries).toHaveLength(1));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(connection.sent.map(({ qos }) => qos)).toEqual([1]);
  copies.stop();
});

test('a discarded session is not written again by a change that came before', async () => {
  await subscribed('nurse');
  const changed = sessions.subscribe(keyOf('nurse'), [{ filter: 'more', qos: 1 }]);
  await sessions.discard(keyOf('nurse'));
  await changed;
  expect(store.records.size).toBe(0);
});

test('packet identifiers begin anywhere: a late acknowledgement is of the connection before', async () => {
  const first: (number | undefined)[] = [];
  for (const name of ['1', '2', '3', '4']) {
    const [consumer, connection] = [await subscribed(name), new Connection()];
    consumer.connect(connection);
    await append(Number(name), 'a');
    await vi.waitFor(() => expect(connection.sent).toHaveLength(1));
    first.push(connection.sent[0]?.messageId);
    consumer.disconnect(connection);
  }
  expect(new Set(first).size).toBeGreaterThan(1);
});

test('a message that waits does not keep the chunk of the network that it came in', async () => {
  const consumer = await subscribed('nurse');
  const chunk = Buffer.from('{"data":{"n":1}}'.padEnd(65_536));
  const about = { topic: 'b', locationId: null, groupId: null, receivedAtMs: nowMs };
  router.queue({ ...about, payload: chunk.subarray(0, 16) });
  const connection = new Connection();
  consumer.connect(connection);
  await vi.waitFor(() => expect(connection.sent).toHaveLength(1));
  expect(connection.sent[0]?.payload.buffer.byteLength).toBe(16);
});

test('guarantee 3: what another gateway has queued goes before the new alarm of its device', async () => {
  const { consumer } = sessions.open('nurse', owner, PERSISTENT);
  await sessions.subscribe(keyOf('nurse'), [{ filter: '+', qos: 1 }]);
  const connection = new Connection();
  consumer.connect(connection);
  await append(1, 'a');
  await store.append([numbered(2, 'b', nowMs)], [[keyOf('nurse')]], { known: 0, above: 0 });
  await append(3, 'b');
  await vi.waitFor(() => expect(connection.sent.map(numberIn)).toEqual([1, 2, 3]));
});

/** The outlet of a bridge, with its dead letters. `add` stores one. */
function openedOutlet(add: (key: string, letter: DeadLetter) => Promise<void>): Outlet {
  const options = {
    kind: 'bridge',
    name: 'nurse call',
    owner,
    onDeadLetter: () => undefined,
  } as const;
  return new Outlet(options, { sessions, deadLetters: { add }, log: silent, now: () => nowMs });
}

test('while the filters of an outlet change, what matches old and new ones is queued, and one write has both', async () => {
  const outlet = openedOutlet(async () => undefined);
  await outlet.open(['+']);
  const writes = vi.spyOn(store, 'save');
  const changed = outlet.open(['a', 'b']);
  expect(router.destinationsOf(numbered(1, 'a'))).toHaveLength(1);
  await changed;
  expect(router.destinationsOf(numbered(1, 'a'))).toHaveLength(1);
  expect(router.destinationsOf(numbered(1, 'c'))).toHaveLength(0);
  expect(writes.mock.calls).toHaveLength(1);
  outlet.stop();
});

test('a dead letter is stored before its message leaves the queue, also on a later connection', async () => {
  const letters: DeadLetter[] = [];
  let stored: () => void = () => undefined;
  const outlet = openedOutlet((_key, letter) => {
    letters.push(letter);
    return new Promise((resolve) => {
      stored = resolve;
    });
  });
  await outlet.open(['+']);
  const [first, second] = [new Connection(), new Connection()];
  outlet.connect(first);
  await append(1, 'a');
  await vi.waitFor(() => expect(first.sent).toHaveLength(1));
  for (const publish of first.sent) outlet.deadLetter(publish, 'it is refused');
  outlet.disconnect(first);
  outlet.connect(second);
  await vi.waitFor(() => expect(second.sent).toHaveLength(1));
  for (const publish of second.sent) outlet.deadLetter(publish, 'it is refused');
  await vi.advanceTimersByTimeAsync(A_MINUTE_MS);
  expect([letters.length, outlet.queued]).toEqual([1, 1]);
  stored();
  await vi.waitFor(() => expect(outlet.queued).toBe(0));
  // It is no longer in flight either.
  for (let n = 2; n < 2 + LIMITS.maxInFlight; n++) await append(n, 'a');
  await vi.waitFor(() => expect(second.sent).toHaveLength(1 + LIMITS.maxInFlight));
  outlet.stop();
});
