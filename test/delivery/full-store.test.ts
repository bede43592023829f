import { afterAll, beforeAll, expect, it } from 'vitest';
import { LogKeeper } from '../../src/delivery/log-keeper.js';
import { LogTail } from '../../src/delivery/log-tail.js';
import { Router } from '../../src/delivery/router.js';
import { Sessions } from '../../src/delivery/sessions.js';
import { Keys } from '../../src/store/keys.js';
import { LogStore } from '../../src/store/log-store.js';
import { SessionStoreRedis } from '../../src/store/session-store-redis.js';
import { RedisServer } from '../harness/redis-server.js';
import { Connection, silent } from './world.js';

const ENTRIES = 200;
const DAY_MS = 24 * 3_600_000;

let server: RedisServer;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.remove());

it('a full store is freed of what was delivered, so far as that is stored', async () => {
  const { redis } = server;
  const keys = new Keys('full');
  const logs = new LogStore(redis, redis, keys);
  const tails = { alarms: new LogTail(0), messages: new LogTail(0) };
  const router = new Router({ tails, reader: logs, log: silent });
  const owner = { key: 'token:1', mayReceive: () => true, audienceKey: '' };
  const sessions = new Sessions({
    ...{ store: new SessionStoreRedis(redis, keys), reader: logs, router, log: silent },
    ownerOf: () => owner,
    // Telemetry never takes more than half of the window.
    limits: { maxInFlight: 2 * ENTRIES, maxQueued: 10 * ENTRIES, maxAgeMs: DAY_MS },
    forgetAfterMs: DAY_MS,
    now: Date.now,
  });
  const keeper = new LogKeeper({
    ...{ logs, router, log: silent, now: Date.now },
    saveProgress: () => sessions.saveProgress(),
    storedSettled: (log) => sessions.storedSettled(log),
  });
  const nurse = sessions.open('nurse', owner, true);
  await sessions.subscribe('nurse', [{ filter: '#', qos: 1 }]);
  for (let n = 0; n < ENTRIES; n++) {
    const payload = Buffer.alloc(1_000);
    const message = {
      topic: 't',
      payload,
      receivedAtMs: Date.now(),
      locationId: null,
      groupId: null,
    };
    router.appended((await logs.appendMessage(message)).entry, true);
  }
  const connection = new Connection();
  nurse.connect(connection);
  const acknowledge = (upTo: number): void => {
    while (connection.unacknowledged.length > ENTRIES - upTo) {
      nurse.acknowledge(connection.unacknowledged.shift()?.messageId ?? 0);
    }
  };
  const left = () => redis.xlen(keys.log('messages'));

  acknowledge(ENTRIES / 4);
  await sessions.saveProgress();
  acknowledge(ENTRIES / 2);
  await redis.config('SET', 'maxmemory', '1');
  // It has no room all the same, but what is known of it to be delivered is gone.
  await expect(keeper.keep()).rejects.toThrow('OOM');
  expect(await left()).toBe(ENTRIES - ENTRIES / 4);
  await redis.config('SET', 'maxmemory', '0');
  await keeper.keep();
  expect(await left()).toBe(ENTRIES / 2);
  await sessions.stop();
});
