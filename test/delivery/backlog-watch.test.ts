import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BacklogWatch } from '../../src/delivery/backlog-watch.js';
import { Health } from '../../src/site/health.js';
import { Connection, LIMITS, numbered, World } from './world.js';

const CHECK_MS = 10_000;
const MAX_QUEUED = 10;
const NAMES = ['one', 'two', 'three', 'four', 'five'];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it('reports a fault while a backlog is more than half full, and the gateway stays ready', async () => {
  const limits = { ...LIMITS, maxInFlight: MAX_QUEUED, maxQueued: MAX_QUEUED };
  const world = await World.begin({ limits });
  for (const name of NAMES) {
    await world.subscribed(name, ...(name === 'one' ? ['a', 'b'] : ['b']));
  }
  const append = async (topic: string, count: number): Promise<void> => {
    const items = Array.from({ length: count }, (_, n) => numbered(n, topic));
    await world.append('alarms', items);
  };
  const health = new Health();
  health.started();
  const watch = new BacklogWatch(world.deliveries, health);
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
  for (const name of NAMES) {
    const connection = new Connection();
    world.consumer(name).connect(connection);
    for (const { messageId } of connection.sent) {
      world.consumer(name).acknowledge(messageId);
      await world.settled();
    }
  }
  vi.advanceTimersByTime(CHECK_MS);
  expect(health.faults()).toEqual([]);
  watch.stop();
});
