import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { connectRedis, untilReady } from '../../src/store/server/connection.js';
import { StoreOutages } from '../../src/store/server/store-outages.js';
import { connected, ENDED_AFTER_MS, freePort, Server } from './connected-server.js';
import { ask, recordingLog, temporaryDirectory, until } from './embedded-support.js';

/** At least as long as the product waits between two attempts to connect. */
const MAX_RETRY_DELAY_MS = 1_000;

describe('the message path', () => {
  test('waits for a store that is not up yet, and for one that comes back', async () => {
    const server = new Server();
    const { store, messages } = connected(connectRedis, { socketPath: server.socketPath });
    const early = store.write(['SET', 'a', '1']);
    await until(() => messages.length > 0);
    await server.start();
    expect(await early).toEqual(['OK']);

    await server.kill();
    const late = store.write(['INCR', 'a']);
    await server.start();
    expect(await late).toEqual([2]);
  });

  test('keeps waiting beyond the 20 attempts at which ioredis gives up by default', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const server = new Server();
    const { redis } = connected(connectRedis, { socketPath: server.socketPath });
    let attempts = 0;
    await new Promise<void>((resolve) => {
      redis.on('reconnecting', () => {
        vi.advanceTimersByTime(MAX_RETRY_DELAY_MS);
        if (++attempts > 21) resolve();
      });
    });
    redis.removeAllListeners('reconnecting');
    vi.useRealTimers();
    await server.start();
    await untilReady(redis);
  });

  test('repeats a command when a frozen store was killed before answering', async () => {
    const server = await new Server().start();
    const { store } = connected(connectRedis, { socketPath: server.socketPath });
    await store.write(['SET', 'a', '1']);
    server.signal('SIGSTOP');
    const pending = store.read((redis) => redis.get('a'));
    await server.kill();
    await server.start();
    expect(await pending).toBe('1');
  });

  test('logs the beginning and end of an outage once', async () => {
    const server = await new Server().start();
    const { redis, messages } = connected(connectRedis, { socketPath: server.socketPath });
    await untilReady(redis, 30_000);
    for (let outage = 1; outage <= 2; outage++) {
      let attempts = 0;
      const count = () => attempts++;
      redis.on('reconnecting', count);
      await server.kill();
      await until(() => attempts >= 4);
      redis.off('reconnecting', count);
      await server.start();
      await untilReady(redis, 30_000);
      await until(() => messages.length >= outage * 2);
      expect(messages).toHaveLength(outage * 2);
    }
    expect(messages[0]).toContain('failed to reach the store');
    expect(messages[1]).toContain('reached the store again');
  });

  test('logs once that the store is a replica, however many writes it refuses', async () => {
    const port = await freePort();
    await new Server(port).start();
    const url = `redis://127.0.0.1:${port}`;
    const { redis, store, messages } = connected(connectRedis, { url });
    const warnings: string[] = [];
    const warned = ({ name }: Error) => warnings.push(name);
    process.on('warning', warned);
    onTestFinished(() => void process.off('warning', warned));
    const admin = new Redis(port);
    onTestFinished(() => admin.disconnect());
    await untilReady(redis);
    let reconnects = 0;
    redis.on('reconnecting', () => reconnects++);
    await admin.replicaof('127.0.0.1', await freePort());
    const writes = Array.from({ length: 50 }, (_, n) =>
      store.write(['SET', `key-${n}`, String(n)]),
    );
    await until(() => reconnects > 10);
    await admin.replicaof('NO', 'ONE');
    expect(new Set((await Promise.all(writes)).flat())).toEqual(new Set(['OK']));
    await until(() => messages.length > 1);
    expect(messages.map((line) => JSON.parse(line))).toMatchObject([
      {
        level: 50,
        msg: 'failed to reach the store',
        err: { message: expect.stringMatching(/^READONLY/) },
      },
      { level: 30, msg: 'reached the store again' },
    ]);
    expect(warnings).toEqual([]);
  });

  test('logs one outage of several connections once, and its end when all are back', async () => {
    const server = await new Server().start();
    const { log, messages } = recordingLog();
    const outages = new StoreOutages(log, ENDED_AFTER_MS);
    const shared = { log, outages, socketPath: server.socketPath };
    const names = ['alarms', 'backlog', 'state'];
    const connections = names.map((name) => connectRedis({ ...shared, name }));
    onTestFinished(() => {
      for (const redis of connections) redis.disconnect();
    });
    await Promise.all(connections.map((redis) => untilReady(redis, 30_000)));
    await server.kill();
    await until(() => messages.length === names.length);
    await server.start();
    await until(() => messages.length === names.length + 1);
    const entry = z.object({ level: z.number(), msg: z.string() });
    const shown = messages
      .map((message) => entry.parse(JSON.parse(message)))
      .filter(({ level }) => level >= 30);
    expect(shown).toEqual([
      { level: 50, msg: 'failed to reach the store' },
      { level: 30, msg: 'reached the store again' },
    ]);
    expect(messages.at(-1)).toContain('"level":30');
  });

  test('breaks a network connection that has gone silent', async () => {
    const port = await freePort();
    const server = await new Server(port).start();
    const url = `redis://127.0.0.1:${port}`;
    const { redis, store, messages } = connected(connectRedis, { url, timeoutMs: 200 });
    await store.write(['SET', 'a', '1']);
    let breaks = 0;
    redis.on('reconnecting', () => breaks++);
    server.signal('SIGSTOP');
    const pending = store.read((reader) => reader.get('a'));
    await until(() => breaks > 0);
    expect(messages.join()).toContain('the store is silent');
    server.signal('SIGCONT');
    expect(await pending).toBe('1');
  });

  test('leaves nothing behind when closed while waiting to reconnect', async () => {
    const port = await freePort();
    const server = await new Server(port).start();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { redis, store } = connected(connectRedis, { url: `redis://127.0.0.1:${port}` });
    await untilReady(redis);
    expect(vi.getTimerCount()).toBe(1);
    const reconnecting = once(redis, 'reconnecting');
    await server.kill();
    await reconnecting;
    store.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('waits for a busy store on this machine', async () => {
    const server = await new Server().start();
    const where = { socketPath: server.socketPath, timeoutMs: 20 };
    const { redis, messages } = connected(connectRedis, where);
    await untilReady(redis, 30_000);
    // Busy for ten times the timeout that network connections have here.
    const busy = `local t = redis.call('TIME') local n = t
      while (n[1] - t[1]) * 1000000 + n[2] - t[2] < 200000 do n = redis.call('TIME') end return 1`;
    expect(await redis.eval(busy, 0)).toBe(1);
    expect(messages).toEqual([]);
  });
});

describe('addresses', () => {
  test("use the database and user of a socket's URL", async () => {
    const server = await new Server().start();
    const url = `unix://${server.socketPath}?db=3`;
    const { redis } = connected(connectRedis, { url });
    await untilReady(redis);
    const client = await redis.client('INFO');
    expect(client).toContain('db=3');
    expect(client).toContain('name=test');
  });

  test('authenticate with the credentials of a URL', async () => {
    const port = await freePort();
    const server = await new Server(port).start();
    await ask(server.socketPath, (redis) =>
      redis.acl('SETUSER', 'gateway', 'on', '>p@ss word', '~*', '&*', '+@all'),
    );
    const url = `redis://gateway:p%40ss%20word@127.0.0.1:${port}/2`;
    const { redis } = connected(connectRedis, { url });
    await untilReady(redis);
    expect(await redis.acl('WHOAMI')).toBe('gateway');
    expect(await redis.client('INFO')).toContain('db=2');
  });

  test('are required', () => {
    expect(() => connected(connectRedis, {})).toThrow('no address');
  });
});

test('fails when the store does not answer in time', async () => {
  const socketPath = join(temporaryDirectory(), 'redis.sock');
  const { redis } = connected(connectRedis, { socketPath });
  await expect(untilReady(redis, 50)).rejects.toMatchObject({ code: 'start-failed' });
});

test('fails when the connection is closed before the store is up', async () => {
  const socketPath = join(temporaryDirectory(), 'redis.sock');
  const { redis } = connected(connectRedis, { socketPath });
  const ready = untilReady(redis);
  redis.disconnect();
  await expect(ready).rejects.toMatchObject({ code: 'start-failed' });
});

test('fails when the store refuses the password', async () => {
  const port = await freePort();
  const server = await new Server(port).start();
  await ask(server.socketPath, (redis) => redis.config('SET', 'requirepass', 'right'));
  const { redis } = connected(connectRedis, { url: `redis://:wrong@127.0.0.1:${port}` });
  await expect(untilReady(redis)).rejects.toMatchObject({ code: 'start-failed' });
});
