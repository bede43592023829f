import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Deliveries } from '../../../src/delivery/deliveries.js';
import {
  CLEAN,
  PERSISTENT,
  type SessionOwner,
  sessionKey,
} from '../../../src/delivery/sessions/session.js';
import { Sessions } from '../../../src/delivery/sessions/sessions.js';
import { QueuesInMemory } from '../../former/stored/queues-in-memory.js';
import { Connection, LIMITS, numbered, silent } from '../running-delivery.js';

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
  it('is forgotten when it has been away for too long, and not a moment earlier', async () => {
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

  it.each([undefined, 60])(
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

  it('keeps its age across a restart, and counts as away from then if it was connected', async () => {
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

  it('is stored again when the store has lost the record of another', async () => {
    for (const clientId of ['one', 'other']) sessions.open(clientId, owner, PERSISTENT);
    await pumped();
    store.records.clear();
    await sessions.mend(keyOf('one'));
    await vi.waitFor(() => expect(store.records.size).toBe(2));
  });

  it('does not come back when it ends while its record is being mended', async () => {
    sessions.open('one', owner, PERSISTENT);
    await pumped();
    const mending = sessions.mend(keyOf('one'));
    await sessions.discard(keyOf('one'));
    await mending;
    expect([...store.records.keys()]).toEqual([]);
  });

  it('gives way to another that begins while its record is being mended', async () => {
    sessions.open('one', owner, PERSISTENT);
    await pumped();
    const mending = sessions.mend(keyOf('one'));
    const another = sessions.open('one', owner, { ...PERSISTENT, isCleanStart: true });
    const alarm = { ...numbered(1, 'a/x'), log: 'alarms', sequence: 1, item: 1 } as const;
    store.push(alarm, [another.key]);
    await mending;
    expect(store.backlogOf(another.key).alarms).toBe(1);
  });

  it('does not come back when a clean session takes its place while its record is being mended', async () => {
    sessions.open('one', owner, PERSISTENT);
    await pumped();
    const mending = sessions.mend(keyOf('one'));
    sessions.open('one', owner, CLEAN);
    await mending;
    expect([...store.records.keys()]).toEqual([]);
  });

  it('is gone after a restart when its principal has been deleted', async () => {
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
  it('ends with its connection, and gets nothing afterwards', async () => {
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

  it('has no consumer before its first SUBSCRIBE', async () => {
    const session = sessions.open('sensor', owner, CLEAN);
    await sessions.unsubscribe(session.key, ['a/#']);
    expect(session.consumer).toBeUndefined();
    expect(deliveries.consumers.size).toBe(0);
    expect(sessions.count).toBe(1);
    await sessions.subscribe(session.key, [{ filter: 'a/#', qos: 1 }]);
    expect([...deliveries.consumers]).toEqual([session.consumer]);
  });
});

describe('direct messages', () => {
  it('are dropped, the oldest first, when a client acknowledges too few', async () => {
    const session = sessions.open('nurse', owner, PERSISTENT);
    const { consumer } = session;
    await sessions.subscribe(keyOf('nurse'), [{ filter: 'a', qos: 1 }]);
    const connection = new Connection();
    consumer.connect(connection);
    const message = { topic: 'a', qos: 1, retain: false, locationId: null, groupId: null } as const;
    for (let n = 0; n < 2_000; n++) {
      deliveries.publishDirect({ ...message, payload: Buffer.from(String(n)) });
      if (n < 5) await pumped();
    }
    const numbers = () => connection.sent.map(({ payload }) => Number(payload.toString()));
    await pumped();
    expect(numbers()).toEqual([0, 1, 2, 3, 4]);
    while (connection.unacknowledged.length > 0) {
      consumer.acknowledge(connection.unacknowledged.shift()?.messageId ?? 0);
      await pumped();
    }
    expect(connection.sent).toHaveLength(1_005);
    expect(numbers().at(-1)).toBe(1_999);
  });

  it('take no more than a few megabytes of memory when a client acknowledges too few', async () => {
    const { consumer } = sessions.open('nurse', owner, PERSISTENT);
    await sessions.subscribe(keyOf('nurse'), [{ filter: 'a', qos: 1 }]);
    const connection = new Connection();
    consumer.connect(connection);
    const message = { topic: 'a', qos: 1, retain: false, locationId: null, groupId: null } as const;
    for (let n = 0; n < 100; n++) {
      deliveries.publishDirect({ ...message, payload: Buffer.from(`${n}`.padEnd(256 * 1024)) });
      await pumped();
    }
    expect(connection.sent).toHaveLength(5);
    while (connection.unacknowledged.length > 0) {
      consumer.acknowledge(connection.unacknowledged.shift()?.messageId ?? 0);
      await pumped();
    }
    // The newest four megabytes.
    const numbers = connection.sent.map(({ payload }) => Number(payload.toString()));
    expect(numbers.slice(5)).toEqual(Array.from({ length: 16 }, (_, n) => 84 + n));
  });
});
