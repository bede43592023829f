import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LogTail } from '../../src/delivery/log-tail.js';
import { Router } from '../../src/delivery/router.js';
import type {
  SessionProgress,
  SessionRecord,
  SessionStore,
} from '../../src/delivery/session-store.js';
import { type SessionOwner, Sessions } from '../../src/delivery/sessions.js';
import { ArrayLogs, Connection, silent } from './world.js';

const FORGET_AFTER_MS = 7 * 24 * 3_600_000;
const A_MINUTE_MS = 60_000;
const owner: SessionOwner = { key: 'token:1', mayReceive: () => true, audienceKey: '' };

/** What the port promises, in memory. */
class MemorySessions implements SessionStore {
  readonly records = new Map<string, SessionRecord>();
  isAway = false;

  async load(): Promise<SessionRecord[]> {
    return Promise.resolve([...this.records.values()]);
  }

  async save(session: SessionRecord): Promise<void> {
    this.records.set(session.clientId, session);
    return Promise.resolve();
  }

  async saveProgress(sessions: readonly SessionProgress[]): Promise<void> {
    if (this.isAway) throw new Error('the store is away');
    for (const session of sessions) {
      const known = this.records.get(session.clientId);
      if (known !== undefined) this.records.set(session.clientId, { ...known, ...session });
    }
    return Promise.resolve();
  }

  async delete(clientId: string): Promise<void> {
    this.records.delete(clientId);
    return Promise.resolve();
  }
}

let logs: ArrayLogs;
let store: MemorySessions;
let router: Router;
let sessions: Sessions;
let nowMs = 1_000_000_000_000;

function begin(): Promise<void> {
  const tails = { alarms: new LogTail(0), messages: new LogTail(0) };
  router = new Router({ tails, reader: logs, log: silent });
  sessions = new Sessions({
    store,
    reader: logs,
    router,
    ownerOf: (key) => (key === owner.key ? owner : undefined),
    limits: { maxInFlight: 10, maxQueued: 10, maxAgeMs: FORGET_AFTER_MS },
    forgetAfterMs: FORGET_AFTER_MS,
    log: silent,
    now: () => nowMs,
  });
  return sessions.start();
}

/** The clock goes on by as much; and so does the timer, by what it needs to notice. */
async function pass(ms: number): Promise<void> {
  nowMs += ms;
  await vi.advanceTimersByTimeAsync(A_MINUTE_MS);
}

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  store = new MemorySessions();
  logs = new ArrayLogs();
  await begin();
});

afterEach(async () => {
  await sessions.stop();
  vi.useRealTimers();
});

describe('a persistent session', () => {
  it('is forgotten when it was away for too long, and not a moment earlier', async () => {
    const destination = await sessions.open('nurse', owner, true);
    await sessions.subscribe('nurse', [{ filter: 'a/#', qos: 1 }]);
    const connection = new Connection();
    destination.connect(connection);
    await pass(2 * FORGET_AFTER_MS);
    destination.disconnect(connection);
    sessions.closed('nurse', destination);

    await pass(FORGET_AFTER_MS);
    expect(sessions.get('nurse')).toBe(destination);
    await pass(1);
    expect(sessions.get('nurse')).toBeUndefined();
    expect(store.records.size).toBe(0);
    expect(router.destinations.size).toBe(0);
    expect(router.concerned('a/x').size).toBe(0);
  });

  it('is as old after a restart as it was, or was connected until then', async () => {
    const connected = await sessions.open('connected', owner, true);
    connected.connect(new Connection());
    await sessions.open('away', owner, true);
    await sessions.saveProgress();
    await pass(FORGET_AFTER_MS - 1);
    await sessions.stop();
    await begin();
    await pass(2);
    expect(sessions.get('away')).toBeUndefined();
    expect(sessions.get('connected')).toBeDefined();
    await pass(FORGET_AFTER_MS);
    expect(sessions.get('connected')).toBeUndefined();
  });

  it('is gone after a restart when its principal is', async () => {
    await sessions.open('nurse', { ...owner, key: 'token:2' }, true);
    expect(store.records.size).toBe(1);
    await sessions.stop();
    await begin();
    expect(sessions.get('nurse')).toBeUndefined();
    expect(store.records.size).toBe(0);
  });

  it('is owed each alarm once when a filter was ended that still owed something', async () => {
    const nurse = sessions.open('nurse', owner, true);
    const first = new Connection();
    nurse.connect(first);
    const filters = ['+/x', 'a/x'];
    await sessions.subscribe(
      'nurse',
      filters.map((filter) => ({ filter, qos: 1 as const })),
    );
    router.appended(await logs.append('alarms', 'a/x', nowMs), true);
    await sessions.unsubscribe('nurse', ['+/x']);
    nurse.disconnect(first);
    for (let n = 0; n < 8; n++) router.appended(await logs.append('alarms', 'a/x', nowMs), true);
    expect(nurse.cursors.alarms).toMatchObject({ accepted: 9, queued: 9, dropped: 0 });
    const second = new Connection();
    nurse.connect(second);
    expect(second.sent).toHaveLength(9);
  });

  it('whose cursor could not be saved is saved with the next that can', async () => {
    const destination = await sessions.open('nurse', owner, true);
    await sessions.subscribe('nurse', [{ filter: 'a/#', qos: 1 }]);
    const connection = new Connection();
    destination.connect(connection);
    router.appended(await logs.append('alarms', 'a/x', nowMs), true);
    destination.acknowledge(connection.sent[0]?.messageId ?? 0);
    store.isAway = true;
    await expect(sessions.saveProgress()).rejects.toThrow('away');
    store.isAway = false;
    await sessions.saveProgress();
    expect(store.records.get('nurse')?.cursors.alarms).toMatchObject({ settled: 1, delivered: 1 });
  });
});

describe('a session that does not persist', () => {
  it('ends with its connection, and is owed nothing from then on', async () => {
    const destination = await sessions.open('live', owner, false);
    await sessions.subscribe('live', [{ filter: 'a/#', qos: 1 }]);
    const connection = new Connection();
    destination.connect(connection);
    destination.disconnect(connection);
    sessions.closed('live', destination);
    expect(sessions.get('live')).toBeUndefined();
    expect(store.records.size).toBe(0);
    expect(router.destinations.size).toBe(0);
    expect(router.concerned('a/x').size).toBe(0);
  });
});

describe('a store that has lost its newest entries', () => {
  it('keeps no subscriber waiting until it has as many again', async () => {
    const destination = await sessions.open('nurse', owner, true);
    const connection = new Connection();
    destination.connect(connection);
    const first = { ...(await logs.append('alarms', 'a/x', nowMs)), sequence: 1 };
    for (let sequence = 1; sequence <= 5; sequence++) {
      router.appended({ ...first, sequence }, true);
    }
    await sessions.subscribe('nurse', [{ filter: 'a/#', qos: 1 }]);
    router.appended({ ...first, sequence: 3 }, true);
    expect(connection.sent).toHaveLength(1);
    expect(destination.cursors.alarms.queued).toBe(1);
  });
});

describe('messages that are owed to nobody', () => {
  it('are lost, the oldest first, when a client takes too many without acknowledging', async () => {
    const destination = await sessions.open('nurse', owner, true);
    await sessions.subscribe('nurse', [{ filter: 'a', qos: 1 }]);
    const connection = new Connection();
    destination.connect(connection);
    const message = { topic: 'a', qos: 1, retain: false, locationId: null, groupId: null } as const;
    for (let n = 0; n < 2_000; n++) {
      router.publishDirect({ ...message, payload: Buffer.from(String(n)) });
    }
    const numbers = () => connection.sent.map(({ payload }) => Number(payload.toString()));
    expect(numbers()).toEqual([0, 1, 2, 3, 4]);
    while (connection.unacknowledged.length > 0) {
      destination.acknowledge(connection.unacknowledged.shift()?.messageId ?? 0);
    }
    expect(connection.sent).toHaveLength(1_005);
    expect(numbers().at(-1)).toBe(1_999);
  });
});
