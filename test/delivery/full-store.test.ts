import { afterAll, beforeAll, expect, it } from 'vitest';
import { BacklogBounds } from '../../src/delivery/backlog/backlog-bounds.js';
import { Upkeep } from '../../src/delivery/backlog/upkeep.js';
import { Deliveries } from '../../src/delivery/deliveries.js';
import { Sessions } from '../../src/delivery/sessions/sessions.js';
import { Keys } from '../../src/store/keys.js';
import { LogStore } from '../../src/store/log-store.js';
import { SessionStoreRedis } from '../../src/store/session-store-redis.js';
import { Store } from '../../src/store/store.js';
import { RedisServer } from '../harness/redis-server.js';
import { Connection, numbered, nurseOwner, silent } from './running-delivery.js';

const ENTRIES = 200;
const DAY_MS = 24 * 3_600_000;

let server: RedisServer;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.remove());

/** A subscriber that was sent all entries, with the upkeep of its delivery. */
async function running(site: string, leftInStore: () => number) {
  const { redis } = server;
  const keys = new Keys(site);
  const logs = new LogStore(new Store(redis), new Store(redis), keys);
  const deliveries = new Deliveries({
    onLost: () => undefined,
    onWentBack: () => undefined,
    newest: { alarms: 0, messages: 0 },
    ...{ reader: logs, log: silent, now: Date.now },
    elapsedSinceMs: () => 0,
  });
  const owner = nurseOwner('token:1');
  const sessions = new Sessions({
    ...{ store: new SessionStoreRedis(new Store(redis), keys), deliveries, log: silent },
    ownerOf: () => owner,
    limits: {
      // Telemetry never takes more than half of the window.
      maxInFlight: 2 * ENTRIES,
      maxQueued: 10 * ENTRIES,
      maxQueuedBytes: 10_000 * ENTRIES,
      maxAgeMs: DAY_MS,
    },
    forgetAfterMs: DAY_MS,
    now: Date.now,
  });
  const bounds = new BacklogBounds({
    ...{ logs, maxLogBytes: 1e12, maxBytesOf: () => undefined, leftInStore },
    byOwner: () => sessions.backlogsByOwner(),
  });
  const upkeep = new Upkeep({ logs, deliveries, sessions, bounds, log: silent });
  const { key, consumer } = sessions.open('nurse', owner, true);
  await sessions.subscribe(key, [{ filter: '#', qos: 1 }]);
  const items = Array.from({ length: ENTRIES }, (_, n) => numbered(n, 't', Date.now(), 1_000));
  const appended = await logs.messages.append(items);
  await deliveries.announce(
    items.map((item, index) => {
      const { sequence = 0, isNew = false } = appended[index] ?? {};
      return { entry: { ...item, log: 'messages', sequence }, isNew };
    }),
  );
  const connection = new Connection();
  consumer.connect(connection);
  const acknowledge = (upTo: number): void => {
    while (connection.unacknowledged.length > ENTRIES - upTo) {
      consumer.acknowledge(connection.unacknowledged.shift()?.messageId ?? 0);
    }
  };
  return { redis, logs, sessions, upkeep, acknowledge };
}

it('trims delivered entries from a full store, up to the stored ack floor', async () => {
  const { redis, logs, sessions, upkeep, acknowledge } = await running('full', () => 1e12);
  acknowledge(ENTRIES / 4);
  await sessions.saveCursors();
  acknowledge(ENTRIES / 2);
  await redis.config('SET', 'maxmemory', '1');
  // The store has no room all the same, but entries known to be delivered are gone.
  await expect(upkeep.keep()).rejects.toThrow('OOM');
  expect(await logs.messageCount()).toBe(ENTRIES - ENTRIES / 4);
  await redis.config('SET', 'maxmemory', '0');
  await upkeep.keep();
  expect(await logs.messageCount()).toBe(ENTRIES / 2);
  await sessions.stop();
});

it('makes room in a store that takes no checkpoint', async () => {
  const { redis, logs, sessions, upkeep, acknowledge } = await running('no-checkpoint', () => -1);
  acknowledge(ENTRIES);
  await sessions.saveCursors();
  await redis.config('SET', 'maxmemory', '1');
  upkeep.start();
  // The first checkpoint is due at once, and fails for as long as the store is full.
  await expect.poll(() => logs.messageCount()).toBe(0);
  await redis.config('SET', 'maxmemory', '0');
  await upkeep.stop();
  await sessions.stop();
});
