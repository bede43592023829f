import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectManagementRedis, untilReady } from '../../src/store/server/connection.js';
import { CutProxy } from '../former/servers/cut-proxy.js';
import { connected, freePort, Server } from './connected-server.js';

describe('the management interface', () => {
  test('answers while the store does', async () => {
    const server = await new Server().start();
    const { redis } = connected(connectManagementRedis, { socketPath: server.socketPath });
    await untilReady(redis, 30_000);
    expect(await redis.set('a', '1')).toBe('OK');
  });

  test('fails immediately while there is no store, and works again afterwards', async () => {
    const server = await new Server().start();
    const { redis } = connected(connectManagementRedis, { socketPath: server.socketPath });
    await untilReady(redis, 30_000);
    server.signal('SIGSTOP');
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
    const server = await new Server().start();
    const { redis } = connected(connectManagementRedis, { socketPath: server.socketPath });
    await untilReady(redis, 30_000);
    server.signal('SIGSTOP');
    const since = performance.now();
    await expect(redis.get('a')).rejects.toThrow('timed out');
    expect(performance.now() - since).toBeGreaterThan(2900);
  });

  test('reconnects when a server on the network has vanished', async () => {
    const port = await freePort();
    await new Server(port).start();
    const network = await CutProxy.start({ port });
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
    network.pass();
    const reconnected = once(redis, 'ready');
    await Promise.all(unanswered);
    await reconnected;
    expect(await redis.set('a', '2')).toBe('OK');
    expect(messages.filter((line) => line.includes('the store is silent'))).toHaveLength(1);
  });

  test('keeps its connection when a server on the network answers other commands in time', async () => {
    const port = await freePort();
    await new Server(port).start();
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
