import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { QueueWatch } from '../../src/delivery/queue-watch.js';
import { Health } from '../../src/site/health.js';
import { ArrayLogs, Connection, World } from './world.js';

const CHECK_MS = 10_000;
const MAX_QUEUED = 10;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('a queue that is more than half full is a fault until it is not, and the gateway is ready', async () => {
  const logs = new ArrayLogs();
  const names = ['one', 'two', 'three', 'four', 'five'];
  const world = await World.begin({
    ...{ logs, reader: logs, saved: new Map(), now: () => 0 },
    ...{ maxInFlight: MAX_QUEUED, maxQueued: MAX_QUEUED, maxAgeMs: 1_000 },
    peers: names.map((name) => ({ name, filters: name === 'one' ? ['a', 'b'] : ['b'] })),
  });
  const append = async (topic: string, count: number): Promise<void> => {
    for (let left = count; left > 0; left--) {
      world.router.appended(await logs.append('alarms', topic, 0), true);
    }
  };
  const health = new Health();
  health.started();
  const watch = new QueueWatch(world.router, health);
  watch.start();

  await append('a', MAX_QUEUED / 2);
  vi.advanceTimersByTime(CHECK_MS);
  expect(health.faults()).toEqual([]);
  await append('a', 1);
  vi.advanceTimersByTime(CHECK_MS);
  expect(health.faults()).toEqual(['queue growing, more than half full: one']);
  expect(health.ready()).toBe(true);

  await append('b', MAX_QUEUED);
  vi.advanceTimersByTime(CHECK_MS);
  expect(health.faults()).toEqual([
    'queue growing, more than half full: one, two, three and 2 more',
  ]);
  for (const name of names) {
    const connection = new Connection();
    world.destination(name).connect(connection);
    for (const { messageId } of connection.sent) world.destination(name).acknowledge(messageId);
  }
  vi.advanceTimersByTime(CHECK_MS);
  expect(health.faults()).toEqual([]);
  watch.stop();
});
