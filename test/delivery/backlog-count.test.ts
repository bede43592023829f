import { expect, it } from 'vitest';
import type { LogName } from '../../src/delivery/log/log-entry.js';
import { ArrayLogs } from './array-logs.js';
import { MemorySessions } from './memory-sessions.js';
import { Connection, LIMITS, numbered, numberIn, RunningDelivery } from './running-delivery.js';

const MAX_QUEUED = 640;
const limits = { ...LIMITS, maxQueued: MAX_QUEUED };

/** Logs whose first reads fail. */
class FailingLogs extends ArrayLogs {
  failures = 0;

  override async read(log: LogName, afterSequence: number, count: number) {
    if (this.failures-- > 0) throw new Error('the store is away');
    return super.read(log, afterSequence, count);
  }
}

async function append(
  delivery: RunningDelivery,
  topic: string,
  from: number,
  to: number,
): Promise<void> {
  const items = Array.from({ length: to - from }, (_, at) => numbered(from + at, topic));
  await delivery.append('messages', items);
}

async function startedWithBacklog(topic = 'a') {
  const [logs, store] = [new FailingLogs(), new MemorySessions()];
  const before = await RunningDelivery.begin({ logs, store, limits });
  await before.subscribed('nurse', topic);
  await append(before, topic, 0, MAX_QUEUED);
  await before.sessions.stop();
  return { logs, store, delivery: await RunningDelivery.begin({ logs, store, limits }) };
}

it('keeps a backlog from before the start whole until its marks are set, then cuts it to its bound', async () => {
  const { delivery } = await startedWithBacklog();
  await append(delivery, 'a', MAX_QUEUED, MAX_QUEUED + 50);
  const { messages } = delivery.consumer('nurse').cursors;
  expect([messages.queued, messages.dropped]).toEqual([MAX_QUEUED + 50, 0]);
  await delivery.markBacklogs();
  expect(messages.queued).toBeLessThanOrEqual(MAX_QUEUED);
  expect(messages.queued).toBeGreaterThan(MAX_QUEUED - 30);
});

it('keeps a backlog whole until its marks are set also when a crash has left it to be counted', async () => {
  const [logs, store] = [new ArrayLogs(), new MemorySessions()];
  const killed = await RunningDelivery.begin({ logs, store, limits });
  await killed.subscribed('nurse', 'a');
  await append(killed, 'a', 0, MAX_QUEUED);
  const delivery = await RunningDelivery.begin({ logs, store, limits });
  await append(delivery, 'a', MAX_QUEUED, MAX_QUEUED + 50);
  const { messages } = delivery.consumer('nurse').cursors;
  expect([messages.queued, messages.dropped]).toEqual([MAX_QUEUED + 50, 0]);
  await delivery.markBacklogs();
  expect(messages.queued).toBeLessThanOrEqual(MAX_QUEUED);
  expect(messages.queued).toBeGreaterThan(MAX_QUEUED - 30);
});

it('sets the marks when the first reads of the store fail', async () => {
  const { logs, delivery } = await startedWithBacklog();
  await append(delivery, 'a', MAX_QUEUED, MAX_QUEUED + 50);
  logs.failures = 2;
  await delivery.markBacklogs();
  expect(delivery.consumer('nurse').cursors.messages.queued).toBeLessThanOrEqual(MAX_QUEUED);
});

it('drops no more of a backlog than it must when its filters have changed', async () => {
  const delivery = await RunningDelivery.begin({ limits });
  const nurse = await delivery.subscribed('nurse', 'a');
  await append(delivery, 'a', 0, MAX_QUEUED - 10);
  await delivery.subscribe('nurse', [{ filter: 'b', qos: 1 }]);
  await append(delivery, 'b', MAX_QUEUED - 10, MAX_QUEUED + 50);
  const { messages } = nurse.cursors;
  expect(messages.queued).toBeLessThanOrEqual(MAX_QUEUED);
  expect(messages.queued).toBeGreaterThan(MAX_QUEUED - 30);
  const connection = new Connection();
  nurse.connect(connection);
  const seen: number[] = [];
  for (let lot = connection.sent; seen.length < lot.length; lot = connection.sent) {
    for (const publish of lot.slice(seen.length)) {
      seen.push(numberIn(publish));
      nurse.acknowledge(publish.messageId);
    }
    await delivery.settled();
  }
  expect(seen.at(-1)).toBe(MAX_QUEUED + 49);
  expect(seen).toEqual(Array.from({ length: seen.length }, (_, at) => (seen[0] ?? 0) + at));
});

it('recounts only entries that the filters match when one of them has ended', async () => {
  const [logs, store] = [new ArrayLogs(), new MemorySessions()];
  const before = await RunningDelivery.begin({ logs, store, limits });
  await before.subscribed('nurse', 'a', 'b');
  await append(before, 'b', 0, 1);
  await before.unsubscribe('nurse', ['b']);
  await append(before, 'a', 1, 3);
  await append(before, 'c', 3, 10);
  // The kill lost the entries counted since the filter ended.
  const { messages } = (await RunningDelivery.begin({ logs, store, limits })).consumer(
    'nurse',
  ).cursors;
  expect([messages.queued, messages.accepted]).toEqual([3, 3]);
});
