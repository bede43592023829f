/** The two connections of a store: the message path waits for the store, and management fails without it. */
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import {
  type ConnectionOptions,
  connectManagementRedis,
  connectRedis,
  StoreOutages,
  untilReady,
} from '../../src/store/server/connection.js';
import { Store } from '../../src/store/store.js';
import { claimPort } from '../harness/program.js';
import { CutProxy } from '../harness/proxy.js';
import { RedisProgram } from '../harness/redis.js';
import { ask, recordingLog, temporaryDirectory, until } from './embedded-support.js';

/** At least as long as the product waits between two attempts to connect. */
const MAX_RETRY_DELAY_MS = 1_000;
/** An outage has ended this long after the last connection is back. */
const ENDED_AFTER_MS = 300;

/** The test's own server, not started yet. */
function newServer(port = 0): RedisProgram {
  const directory = temporaryDirectory();
  const socket = ['--port', `${port}`, '--unixsocket', join(directory, 'redis.sock')];
  const args = [...socket, '--save', '', '--appendonly', 'yes'];
  const server = new RedisProgram({ args, directory });
  onTestFinished(() => server.remove());
  return server;
}

async function startServer(port?: number): Promise<RedisProgram> {
  const server = newServer(port);
  await server.start();
  return server;
}

function connected(connect: typeof connectRedis, where: Partial<ConnectionOptions>) {
  const { log, messages } = recordingLog();
  const outages = new StoreOutages(log, ENDED_AFTER_MS);
  const redis = connect({ log, outages, name: 'test', ...where });
  const store = new Store(redis, '{site}:', { isPatient: connect === connectRedis });
  onTestFinished(() => store.close());
  return { redis, store, messages };
}

describe('the message path', () => {
  test('waits for a store that is not up yet, and for one that comes back', async () => {
    const server = newServer();
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
    const server = newServer();
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
    const server = await startServer();
    const { store } = connected(connectRedis, { socketPath: server.socketPath });
    await store.write(['SET', 'a', '1']);
    server.freeze();
    const pending = store.read((redis) => redis.get('a'));
    await server.kill();
    await server.start();
    expect(await pending).toBe('1');
  });

  test('logs the beginning and end of an outage once', async () => {
    const server = await startServer();
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
    const port = await claimPort();
    await startServer(port);
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
    await admin.replicaof('127.0.0.1', await claimPort());
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
    const server = await startServer();
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
    const port = await claimPort();
    const server = await startServer(port);
    const url = `redis://127.0.0.1:${port}`;
    const { redis, store, messages } = connected(connectRedis, { url, timeoutMs: 200 });
    await store.write(['SET', 'a', '1']);
    let breaks = 0;
    redis.on('reconnecting', () => breaks++);
    server.freeze();
    const pending = store.read((reader) => reader.get('a'));
    await until(() => breaks > 0);
    expect(messages.join()).toContain('the store is silent');
    server.thaw();
    expect(await pending).toBe('1');
  });

  test('leaves nothing behind when closed while waiting to reconnect', async () => {
    const port = await claimPort();
    const server = await startServer(port);
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
    const server = await startServer();
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
    const server = await startServer();
    const url = `unix://${server.socketPath}?db=3`;
    const { redis } = connected(connectRedis, { url });
    await untilReady(redis);
    const client = await redis.client('INFO');
    expect(client).toContain('db=3');
    expect(client).toContain('name=test');
  });

  test('authenticate with the credentials of a URL', async () => {
    const port = await claimPort();
    const server = await startServer(port);
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
  const port = await claimPort();
  const server = await startServer(port);
  await ask(server.socketPath, (redis) => redis.config('SET', 'requirepass', 'right'));
  const { redis } = connected(connectRedis, { url: `redis://:wrong@127.0.0.1:${port}` });
  await expect(untilReady(redis)).rejects.toMatchObject({ code: 'start-failed' });
});

describe('the management interface', () => {
  test('answers while the store does', async () => {
    const server = await startServer();
    const { redis } = connected(connectManagementRedis, { socketPath: server.socketPath });
    await untilReady(redis, 30_000);
    expect(await redis.set('a', '1')).toBe('OK');
  });

  test('fails immediately while there is no store, and works again afterwards', async () => {
    const server = await startServer();
    const { redis } = connected(connectManagementRedis, { socketPath: server.socketPath });
    await untilReady(redis, 30_000);
    server.freeze();
    // Not "timed out": it does not wait that long.
    const unanswered = expect(redis.incr('a')).rejects.toThrow('max retries');
    await server.kill();
    await unanswered;
    await expect(redis.get('a')).rejects.toThrow();
    await server.start();
    await untilReady(redis, 30_000);
    expect(await redis.get('a')).toBe(null);
  });

  test('gives up on a frozen store after 3 s', async () => {
    const server = await startServer();
    const { redis } = connected(connectManagementRedis, { socketPath: server.socketPath });
    await untilReady(redis, 30_000);
    server.freeze();
    const since = performance.now();
    await expect(redis.get('a')).rejects.toThrow('timed out');
    expect(performance.now() - since).toBeGreaterThan(2900);
  });

  test('reconnects when a server on the network has vanished', async () => {
    const port = await claimPort();
    await startServer(port);
    const network = await CutProxy.start(port);
    onTestFinished(() => network.close());
    const url = `redis://127.0.0.1:${network.port}`;
    const { redis, messages } = connected(connectManagementRedis, { url, timeoutMs: 300 });
    await untilReady(redis, 30_000);
    network.swallow();
    const unanswered = [
      expect(redis.set('a', '1')).rejects.toThrow('timed out'),
      // Fails with the connection, unless its own timeout comes first.
      expect(redis.set('b', '1')).rejects.toThrow(),
    ];
    network.mend();
    const reconnected = once(redis, 'ready');
    await Promise.all(unanswered);
    await reconnected;
    expect(await redis.set('a', '2')).toBe('OK');
    expect(messages.filter((line) => line.includes('the store is silent'))).toHaveLength(1);
  });

  test('keeps its connection when a server on the network answers other commands in time', async () => {
    const port = await claimPort();
    await startServer(port);
    const url = `redis://127.0.0.1:${port}`;
    const { redis, messages } = connected(connectManagementRedis, { url, timeoutMs: 1_000 });
    await untilReady(redis, 30_000);
    const id = await redis.client('ID');
    const inTime = redis.blpop('nothing', 0.6);
    const tooLate = expect(redis.blpop('nothing', 0.6)).rejects.toThrow('timed out');
    expect(await inTime).toBeNull();
    await tooLate;
    expect(await redis.client('ID')).toBe(id);
    expect(messages).toEqual([]);
  });
});
