import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Health } from '../../src/site/health/health.js';
import { checkServer, checkSettings } from '../../src/store/server/check.js';
import { Store } from '../../src/store/store.js';
import { faultTexts } from '../harness/described/fault-texts.js';
import { Own } from '../harness/index.js';
import { embeddedRedis, temporaryDirectory } from './embedded-support.js';

/** A connection to a server whose settings are suitable until the test changes them. */
async function serverConnection(options: { username?: string; password?: string } = {}) {
  const { embedded } = embeddedRedis(temporaryDirectory());
  await embedded.start();
  const redis = new Redis({ path: embedded.socketPath });
  onTestFinished(() => redis.disconnect());
  await redis.acl('SETUSER', 'managed', 'on', '>secret', '~*', '+@all', '-config');
  const other = new Redis({ path: embedded.socketPath, lazyConnect: true, ...options });
  onTestFinished(() => other.disconnect());
  return { redis, other };
}

/** A connection to a peer that answers every command with this bulk string. */
async function connectionThatSays(info: string): Promise<Redis> {
  const socketPath = join(temporaryDirectory(), 'fake.sock');
  const server = createServer((socket) => {
    // Its peer may close with unread answers, which resets the connection.
    socket.on('error', () => socket.destroy());
    socket.on('data', (commands) => {
      for (const _ of commands.toString().matchAll(/^\*\d+\r$/gm)) {
        socket.write(`$${info.length}\r\n${info}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => void server.close());
  const redis = new Redis({ path: socketPath, enableReadyCheck: false, disableClientInfo: true });
  onTestFinished(() => redis.disconnect());
  return redis;
}

test('gives no warning about suitable settings', async () => {
  const { redis } = await serverConnection();
  expect(await checkServer(new Store(redis, '{site}:'))).toEqual([]);
});

describe('a server that is not durable', () => {
  test.each([
    ['maxmemory-policy', 'allkeys-lru', /allkeys-lru.* deletes alarms/],
    ['appendonly', 'no', /appendonly off.* are lost/],
    ['appendfsync', 'everysec', /appendfsync everysec.*in the second before it/],
    ['appendfsync', 'no', /appendfsync no:.*last wrote to disk/],
  ])('gives a warning about %s %s', async (name, value, sentence) => {
    const { redis } = await serverConnection();
    await redis.config('SET', name, value);
    expect(await checkServer(new Store(redis, '{site}:'))).toEqual([
      expect.stringMatching(sentence),
    ]);
  });

  test('gives a warning for each unsafe setting', async () => {
    const { redis } = await serverConnection();
    await redis.config('SET', 'appendfsync', 'no', 'maxmemory-policy', 'volatile-ttl');
    expect(await checkServer(new Store(redis, '{site}:'))).toHaveLength(2);
  });
});

test('names the settings that cannot be checked when CONFIG is forbidden', async () => {
  const { other } = await serverConnection({ username: 'managed', password: 'secret' });
  expect(await checkServer(new Store(other, '{site}:'))).toEqual([
    expect.stringMatching(/^maxmemory-policy cannot be checked/),
    expect.stringMatching(/^appendonly cannot be checked/),
    expect.stringMatching(/^appendfsync cannot be checked/),
  ]);
});

describe('an unsafe setting', () => {
  test('is a fault, but the gateway stays ready', async () => {
    const { redis } = await serverConnection();
    const health = new Health();
    health.started();
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru', 'appendfsync', 'everysec');
    await checkSettings(new Store(redis, '{site}:'), health);
    expect(faultTexts(health.shown())).toEqual([
      expect.stringMatching(/maxmemory-policy allkeys-lru/),
      expect.stringMatching(/appendfsync everysec/),
    ]);
    expect(health.ready()).toBe(true);
  });

  test('is looked for again at each new server', async () => {
    const own = new Own();
    onTestFinished(() => own.release());
    const { redis, url } = await own.redis();
    const home = await own.home({ env: { GATEWAY_REDIS_URL: url } });
    const settings = async () =>
      (await home.faults()).filter((text) => text.includes('appendfsync'));
    expect(await settings()).toEqual([]);
    for (const [value, faults] of [
      ['everysec', 1],
      ['always', 0],
    ] as const) {
      await redis.config('SET', 'appendfsync', value);
      // As when another box takes over: all connections are new.
      await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await expect.poll(settings).toHaveLength(faults);
    }
  });

  test('is not a fault when CONFIG is forbidden', async () => {
    const { other } = await serverConnection({ username: 'managed', password: 'secret' });
    await other.connect();
    const health = new Health();
    await checkSettings(new Store(other, '{site}:'), health);
    expect(faultTexts(health.shown())).toEqual([]);
  });
});

test('refuses a Sentinel with one sentence', async () => {
  const directory = temporaryDirectory();
  const [file, socketPath] = [join(directory, 'sentinel.conf'), join(directory, 'sentinel.sock')];
  writeFileSync(file, `port 0\nunixsocket ${socketPath}\n`);
  const sentinel = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  onTestFinished(async () => {
    sentinel.kill('SIGKILL');
    await once(sentinel, 'exit');
  });
  const redis = new Redis({ path: socketPath, retryStrategy: () => 20 });
  redis.on('error', () => undefined);
  onTestFinished(() => redis.disconnect());
  await expect(checkServer(new Store(redis, '{site}:'))).rejects.toMatchObject({
    code: 'start-failed',
    detail: expect.stringMatching(/it is a Sentinel, .*redis\.url/),
  });
});

test('refuses a replica', async () => {
  const { redis } = await serverConnection();
  await redis.replicaof('127.0.0.1', 1);
  await expect(checkServer(new Store(redis, '{site}:'))).rejects.toMatchObject({
    code: 'start-failed',
    detail: expect.stringContaining('replica'),
  });
});

test.each([
  ['redis_version:6.0.16\r\n', '6.0'],
  ['redis_version:5.9.1\r\n', '5.9'],
  ['server:other\r\n', 'does not say'],
])('refuses a server whose INFO is %j', async (info, words) => {
  await expect(
    checkServer(new Store(await connectionThatSays(info), '{site}:')),
  ).rejects.toMatchObject({
    code: 'start-failed',
    detail: expect.stringContaining(words),
  });
});

test.each(['6.2.0', '7.0.15', '10.0.1'])('accepts version %s', async (version) => {
  const redis = await connectionThatSays(`redis_version:${version}\r\nrole:master\r\n`);
  expect(await checkServer(new Store(redis, '{site}:'))).toHaveLength(3);
});
