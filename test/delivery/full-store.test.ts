import { expect, it } from 'vitest';
import { keysOf } from '../../src/store/keys.js';
import { RedisServer } from '../former/servers/redis-server.js';
import { StoredLogs } from '../former/stored/stored-logs.js';
import { numbered } from './running-delivery.js';

const MESSAGES = 200;
const NURSE = 'token:1/nurse';

it('settles and drops in a full store, which makes room in it', async () => {
  const server = await RedisServer.start();
  const { redis } = server;
  const keys = keysOf('site');
  const logs = new StoredLogs(redis, keys);
  await redis.hset(keys.session(NURSE), 'owner', 'token:1');
  const messages = Array.from({ length: MESSAGES }, (_, n) => numbered(n, 't', 0, 1_000));
  await logs.appendMessages(messages, NURSE);
  const { entries } = await logs.queues.page('messages', NURSE, 0, MESSAGES);
  await redis.config('SET', 'maxmemory', '1');
  const items = entries.slice(0, 50);
  const settlement = { destination: NURSE, log: 'messages', outcome: 'delivered', items } as const;
  const [backlog] = await logs.queues.settle([settlement]);
  expect(backlog?.messages).toBe(150);
  const bounds = { oldestMs: 0, maxMessages: 100, maxMessageBytes: 60_000 };
  const range = { after: 0, upTo: Number.MAX_SAFE_INTEGER };
  expect(await logs.queues.keepBounds(NURSE, bounds, range)).toMatchObject({
    lost: 0,
    backlog: { messages: 60, messageBytes: 60_000 },
  });
  await redis.config('SET', 'maxmemory', '0');
  const [accounts] = await logs.queues.accounts([NURSE]);
  expect(accounts?.messages).toMatchObject({
    accepted: MESSAGES,
    delivered: 50,
    queued: 60,
    expired: 0,
    dropped: 90,
  });
  await server.remove();
});
