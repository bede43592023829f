/**
 * Parts of delivery with the store in memory and a clock that stands still: what a session is, whose backlog is cut,
 * and how a subscriber is served that reads more slowly than its log is fed.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { backlogFaults } from '../../src/delivery/backlog/backlog-fault.js';
import type { Consumer } from '../../src/delivery/consumer.js';
import { Deliveries } from '../../src/delivery/deliveries.js';
import type { LogName } from '../../src/delivery/log/log-entry.js';
import {
  CLEAN,
  PERSISTENT,
  type SessionOwner,
  sessionKey,
} from '../../src/delivery/sessions/session.js';
import { Sessions } from '../../src/delivery/sessions/sessions.js';
import { Health } from '../../src/site/health/health.js';
import { faultTexts } from '../harness/described/fault-texts.js';
import { QueuesInMemory } from './queues-in-memory.js';
import {
  Connection,
  LIMITS,
  numbered,
  numberIn,
  RunningDelivery,
  silent,
} from './running-delivery.js';

const FORGET_AFTER_MS = 7 * 24 * 3_600_000;
const A_MINUTE_MS = 60_000;
const owner: SessionOwner = { key: 'token:1', mayReceive: () => true };
const keyOf = (clientId: string) => sessionKey(owner.key, clientId);

let store: QueuesInMemory;
let deliveries: Deliveries;
let sessions: Sessions;
let nowMs = 1_000_000_000_000;

async function begin(): Promise<void> {
  deliveries = new Deliveries({
    newestAlarm: 0,
    onLost: () => undefined,
    onBehind: () => undefined,
    onWentBack: () => undefined,
    mend: (key) => sessions.mend(key),
    queues: store,
    log: silent,
    now: () => nowMs,
    elapsedSinceMs: () => 0,
  });
  sessions = new Sessions({
    store,
    deliveries,
    log: silent,
    now: () => nowMs,
    ownerOf: (key) => (key === owner.key ? owner : undefined),
    limits: { ...LIMITS, maxQueued: 10, maxAgeMs: FORGET_AFTER_MS },
    forgetAfterMs: FORGET_AFTER_MS,
  });
  await sessions.start();
}

/** Resolves at the end of the microtasks, when pending messages have been sent. */
function pumped(): Promise<void> {
  return Promise.resolve();
}

/** Moves the clock, and the timers far enough to notice. */
async function pass(ms: number): Promise<void> {
  nowMs += ms;
  await vi.advanceTimersByTimeAsync(A_MINUTE_MS);
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  store = new QueuesInMemory();
  await begin();
});

afterEach(async () => {
  await sessions.stop();
  vi.useRealTimers();
});

describe('a persistent session', () => {
  test('is forgotten when it has been away for too long, and not a moment earlier', async () => {
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
    expect(deliveries.consumers.size).toBe(0);
    expect(deliveries.routes.match('a/x')).toEqual([]);
  });

  test.each([undefined, 60])(
    'does not expire while its client is back, nor after a crash then: expiry %s',
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

  test('keeps its age across a restart, and counts as away from then if it was connected', async () => {
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

  test('is stored again when the store has lost the record of another', async () => {
    for (const clientId of ['one', 'other']) sessions.open(clientId, owner, PERSISTENT);
    await pumped();
    store.records.clear();
    await sessions.mend(keyOf('one'));
    await vi.waitFor(() => expect(store.records.size).toBe(2));
  });

  test('is gone after a restart when its principal has been deleted', async () => {
    sessions.open('nurse', { ...owner, key: 'token:2' }, PERSISTENT);
    await vi.advanceTimersByTimeAsync(0);
    expect(store.records.size).toBe(1);
    await sessions.stop();
    await begin();
    expect(sessions.get(keyOf('nurse'))).toBeUndefined();
    expect(store.records.size).toBe(0);
  });
});

describe('a session that does not persist', () => {
  test('ends with its connection, and gets nothing afterwards', async () => {
    const session = sessions.open('live', owner, CLEAN);
    await sessions.subscribe(keyOf('live'), [{ filter: 'a/#', qos: 1 }]);
    const connection = new Connection();
    session.consumer?.connect(connection);
    expect(session.consumer?.isConnected).toBe(true);
    session.consumer?.disconnect(connection);
    sessions.closed(session);
    expect(sessions.get(keyOf('live'))).toBeUndefined();
    expect(store.records.size).toBe(0);
    expect(deliveries.consumers.size).toBe(0);
    expect(deliveries.routes.match('a/x')).toEqual([]);
  });
});

const BYTES = 10_000;
const WAIT = { ...LIMITS, maxAgeMs: 1e12, maxInFlight: 1_000 };

function append(delivery: RunningDelivery, topic: string, count: number): void {
  for (let n = 0; n < count; n++) delivery.append('messages', [numbered(n, topic, 0, BYTES)]);
}

/** The numbers that the consumer gets once it connects. */
async function numbersFor(delivery: RunningDelivery, consumer: Consumer): Promise<number[]> {
  const connection = new Connection();
  consumer.connect(connection);
  for (let sent = -1; sent < connection.sent.length; ) {
    sent = connection.sent.length;
    await delivery.settled();
  }
  return connection.sent.map(numberIn);
}

describe('the backlogs of one principal', () => {
  test('are trimmed at the longest when together they exceed its bytes, without affecting others', async () => {
    const delivery = await RunningDelivery.begin({
      limits: WAIT,
      ownerOf: (name) => ({ key: name.slice(0, 3), mayReceive: () => true }),
      bounds: { maxBytesOf: (owner) => (owner === 'one' ? 400_000 : undefined) },
    });
    const long = await delivery.subscribed('one-long', 'a');
    const short = await delivery.subscribed('one-short', 'b');
    const other = await delivery.subscribed('two', 'a');
    append(delivery, 'a', 50);
    append(delivery, 'b', 5);
    await delivery.bound();

    expect(short.backlogBytes).toBe(5 * BYTES);
    expect(other.backlogBytes).toBe(50 * BYTES);
    expect(long.backlogBytes).toBe(350_000);
    await delivery.accounts.read();
    const { accepted, queued, dropped } = long.accounts.messages;
    expect({ accepted, sum: queued + dropped }).toEqual({ accepted: 50, sum: 50 });
    // The oldest are gone.
    const numbers = await numbersFor(delivery, long);
    expect(numbers).toEqual(Array.from({ length: queued }, (_, n) => n + dropped));
  });
});

describe('all backlogs together', () => {
  test('are trimmed to their bytes at the expense of the longest', async () => {
    const bounds = { maxBytes: 300_000 };
    const delivery = await RunningDelivery.begin({ limits: WAIT, bounds });
    const quiet = await delivery.subscribed('quiet', 'b');
    const loud = await delivery.subscribed('loud', 'a');
    append(delivery, 'b', 2);
    append(delivery, 'a', 60);
    await delivery.bound();
    expect(quiet.backlogBytes + loud.backlogBytes).toBeLessThanOrEqual(300_000);
    await delivery.accounts.read();
    expect(quiet.accounts.messages).toMatchObject({ queued: 2, dropped: 0 });
    expect(loud.queued.messages).toBeGreaterThan(15);
    expect(await numbersFor(delivery, quiet)).toEqual([0, 1]);
    expect((await numbersFor(delivery, loud)).at(-1)).toBe(59);
  });
});

const MAX_QUEUED = 10;
const NAMES = ['one', 'two', 'three', 'four', 'five'];

test('names the consumers while their backlogs are more than half full', async () => {
  const limits = { ...LIMITS, maxInFlight: MAX_QUEUED, maxQueued: MAX_QUEUED };
  const delivery = await RunningDelivery.begin({ limits });
  for (const name of NAMES) {
    await delivery.subscribed(name, ...(name === 'one' ? ['a', 'b'] : ['b']));
  }
  const add = (topic: string, count: number) => {
    delivery.append(
      'alarms',
      Array.from({ length: count }, (_, n) => numbered(n, topic)),
    );
  };
  const health = new Health();
  const faults = () => {
    health.reportAll('backlogs', backlogFaults(delivery.deliveries.consumers));
    return faultTexts(health.faults());
  };

  add('a', MAX_QUEUED / 2);
  expect(faults()).toEqual([]);
  add('a', 1);
  expect(faults()).toEqual(['A queue is more than half full: session one']);

  add('b', MAX_QUEUED);
  expect(faults()).toEqual([
    'A queue is more than half full: session one',
    'A queue is more than half full: session two',
    'A queue is more than half full: session three',
    'A queue is more than half full (2 more).',
  ]);
  for (const name of NAMES) {
    const connection = new Connection();
    delivery.consumer(name).connect(connection);
    await delivery.settled();
    for (const { messageId } of connection.sent) {
      delivery.consumer(name).acknowledge(messageId);
      await delivery.settled();
    }
  }
  await delivery.accounts.read();
  expect(faults()).toEqual([]);
});

test('guarantee 3: what another gateway has queued goes before the new alarm of its device, even during a replay', async () => {
  const delivery = await RunningDelivery.begin({ limits: { ...LIMITS, replayPerSecond: 1 } });
  const nurse = await delivery.subscribed('nurse', '+');
  delivery.append('alarms', [numbered(1, 'a'), numbered(2, 'a'), numbered(3, 'a')]);
  const connection = new Connection();
  nurse.connect(connection);
  await delivery.settled();
  expect(connection.sent.map(numberIn)).toEqual([1]);
  delivery.appendElsewhere(numbered(4, 'b'));
  delivery.append('alarms', [numbered(5, 'b')]);
  await delivery.settled();
  expect(connection.sent.map(numberIn)).toEqual([1, 4, 5]);
  nurse.disconnect(connection);
});

const PAGE_ENTRIES = 500;
const STEPS = 30;
/** The first steps, which fill the backlog and do not count. */
const WARM_UP_STEPS = 10;

interface Fed {
  readonly log: LogName;
  /** Entries that the reader acknowledges in each step. */
  readonly reads: number;
  /** Entries that arrive in each step. */
  readonly arrive: number;
  readonly maxQueued: number;
  /** Steps that the store takes to answer a read. */
  readonly answersAfter: number;
}

/** Queues that return pages some steps later. */
class SlowQueues extends QueuesInMemory {
  readonly #answersAfter: number;
  #waiting: { left: number; readonly answer: () => void }[] = [];

  constructor(answersAfter: number) {
    super();
    this.#answersAfter = answersAfter;
  }

  override async page(log: LogName, key: string, after: number, count: number) {
    const left = this.#answersAfter;
    if (left > 0) {
      await new Promise<void>((resolve) => this.#waiting.push({ left, answer: resolve }));
    }
    return super.page(log, key, after, count);
  }

  step(): void {
    for (const one of this.#waiting) one.left--;
    for (const { left, answer } of this.#waiting) if (left <= 0) answer();
    this.#waiting = this.#waiting.filter(({ left }) => left > 0);
  }
}

/** Feeds a log. Returns how many entries the reader got and how many pages were read. */
async function feed({ log, reads, arrive, maxQueued, answersAfter }: Fed) {
  const queues = new SlowQueues(answersAfter);
  const limits = { ...LIMITS, maxInFlight: 2 * reads, maxQueued, maxQueuedBytes: 1e9 };
  const delivery = await RunningDelivery.begin({ queues, limits });
  const consumer = await delivery.subscribed('reader', 'a');
  const connection = new Connection();
  consumer.connect(connection);
  let [n, got, readsBefore] = [0, 0, 0];
  for (let step = 0; step < STEPS; step++) {
    if (step === WARM_UP_STEPS) [got, readsBefore] = [0, queues.reads];
    delivery.append(
      log,
      Array.from({ length: arrive }, () => numbered(++n, 'a')),
    );
    queues.step();
    await delivery.settled();
    for (const { messageId } of connection.unacknowledged.splice(0, reads)) {
      consumer.acknowledge(messageId);
      got++;
    }
    await delivery.settled();
  }
  await delivery.accounts.read();
  expect(consumer.accounts.alarms.dropped).toBe(0);
  const { accepted, queued } = consumer.accounts[log];
  expect(accepted).toBe(n);
  if (log === 'messages') expect(queued).toBeLessThanOrEqual(maxQueued + 2 * arrive);
  const steps = STEPS - WARM_UP_STEPS;
  return {
    perStep: got / steps,
    pages: queues.reads - readsBefore,
    wanted: (steps * reads) / PAGE_ENTRIES,
  };
}

describe('guarantee 6: a subscriber that reads is served at its rate, however fast the log is fed', () => {
  test.each<Fed>([
    { log: 'messages', reads: 50, arrive: 1_000, maxQueued: 1_000, answersAfter: 0 },
    // When each answer comes, the oldest entry of its page is far beyond the bound.
    { log: 'messages', reads: 50, arrive: 1_000, maxQueued: 10_000, answersAfter: 3 },
    { log: 'alarms', reads: 50, arrive: 1_000, maxQueued: 10_000, answersAfter: 3 },
  ])('%o', async (fed) => {
    const { perStep, pages, wanted } = await feed(fed);
    expect(perStep).toBeGreaterThanOrEqual(0.9 * fed.reads);
    // The number of reads does not depend on how much arrives: every page read is sent.
    expect(pages).toBeLessThanOrEqual(1.5 * wanted + 5);
  });
});
