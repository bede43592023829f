import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig } from '../../../src/config/load.js';
import { checkServer } from '../../../src/store/server/check.js';
import { Store } from '../../../src/store/store.js';
import {
  ask,
  embeddedInOtherProcess,
  embeddedRedis,
  isAlive,
  pidOf,
  temporaryDirectory,
  until,
} from '../embedded-support.js';

/** How long a stop waits before it kills a frozen server. */
const STOP_TIMEOUT_MS = 4_000;
/** Leaves room for `/redis/redis.sock` within the 103 bytes that a socket path may have. */
const MAX_DATA_DIR_BYTES = 86;

const get = (socketPath: string, key: string) => ask(socketPath, (redis) => redis.get(key));
const set = (socketPath: string, key: string) => ask(socketPath, (redis) => redis.set(key, 'kept'));

describe('started and stopped', () => {
  test('it answers, ends with the gateway, and keeps its data', async () => {
    const dataDir = join(temporaryDirectory(), 'not', 'yet', 'there');
    const first = embeddedRedis(dataDir).embedded;
    expect(first.running).toBe(false);
    await first.start();
    expect(first.running).toBe(true);
    const pid = await pidOf(first.socketPath);
    await set(first.socketPath, 'a');
    await first.stop();
    expect(first.running).toBe(false);
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(first.socketPath)).toBe(false);

    const second = embeddedRedis(dataDir).embedded;
    await second.start();
    expect(await get(second.socketPath, 'a')).toBe('kept');
  });

  test('it is as durable as required, and reachable by its own user only', async () => {
    const dataDir = join(temporaryDirectory(), 'data');
    const { embedded } = embeddedRedis(dataDir);
    await embedded.start();
    expect(
      await ask(embedded.socketPath, (redis) => checkServer(new Store(redis, '{site}:'))),
    ).toEqual([]);
    expect(await ask(embedded.socketPath, (redis) => redis.config('GET', 'save', 'port'))).toEqual(
      expect.arrayContaining(['save', '', 'port', '0']),
    );
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(statSync(embedded.socketPath).mode & 0o777).toBe(0o700);
  });

  test('it runs in a data directory of any name', async () => {
    const { embedded } = embeddedRedis(
      join(temporaryDirectory(), `Zimmer "ä" it's \\n $HOME --port`),
    );
    await embedded.start();
    await set(embedded.socketPath, 'a');
    expect(await get(embedded.socketPath, 'a')).toBe('kept');
  });

  test('it is killed when frozen', async () => {
    const { embedded } = embeddedRedis(temporaryDirectory());
    await embedded.start();
    const pid = await pidOf(embedded.socketPath);
    process.kill(pid, 'SIGSTOP');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const stopped = embedded.stop();
    await vi.advanceTimersByTimeAsync(STOP_TIMEOUT_MS);
    await stopped;
    expect(isAlive(pid)).toBe(false);
  });

  test('it leaves nothing running when stopped while starting', async () => {
    const dataDir = temporaryDirectory();
    const { embedded, messages } = embeddedRedis(dataDir);
    const starting = embedded.start();
    const refused = expect(starting).rejects.toMatchObject({ code: 'start-failed' });
    await embedded.stop();
    await refused;
    expect(messages.join()).not.toContain('embedded store answers');
    await expect(pidOf(embedded.socketPath)).rejects.toThrow();
    const next = embeddedRedis(dataDir).embedded;
    await next.start();
  });
});

describe('after the gateway was killed', () => {
  test('it still runs, and the next gateway adopts it and can stop it', async () => {
    const dataDir = temporaryDirectory();
    const killed = await embeddedInOtherProcess(dataDir);
    await set(killed.socketPath, 'a');
    const pid = await pidOf(killed.socketPath);
    await killed.killGateway();
    expect(await pidOf(killed.socketPath)).toBe(pid);

    const { embedded, messages } = embeddedRedis(dataDir);
    await embedded.start();
    expect(await pidOf(embedded.socketPath)).toBe(pid);
    expect(await get(embedded.socketPath, 'a')).toBe('kept');
    expect(messages.join()).toContain('"adopted":true');
    await embedded.stop();
    expect(isAlive(pid)).toBe(false);
  });

  test('and the store was killed, too, a new one has its data', async () => {
    const dataDir = temporaryDirectory();
    const killed = await embeddedInOtherProcess(dataDir);
    await set(killed.socketPath, 'a');
    const pid = await pidOf(killed.socketPath);
    await killed.killGateway();
    process.kill(pid, 'SIGKILL');
    const { embedded } = embeddedRedis(dataDir);
    await embedded.start();
    expect(await get(embedded.socketPath, 'a')).toBe('kept');
    expect(await pidOf(embedded.socketPath)).not.toBe(pid);
  });

  test('and the store is frozen, the start fails and says what to end', async () => {
    const dataDir = temporaryDirectory();
    const killed = await embeddedInOtherProcess(dataDir);
    await set(killed.socketPath, 'a');
    const pid = await pidOf(killed.socketPath);
    await killed.killGateway();
    process.kill(pid, 'SIGSTOP');
    const { embedded } = embeddedRedis(dataDir);
    // The gateway gives up a server after some seconds, which pass faster here.
    const elapsed = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => elapsed() * 10);
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(embedded.start()).rejects.toThrow('a server that does not answer holds');
    process.kill(pid, 'SIGKILL');
  });
});

describe('when it ends unexpectedly', () => {
  test('it is restarted, every time', async () => {
    const { embedded, messages } = embeddedRedis(temporaryDirectory());
    await embedded.start();
    await set(embedded.socketPath, 'a');
    for (let round = 0; round < 2; round++) {
      const pid = await pidOf(embedded.socketPath);
      process.kill(pid, 'SIGKILL');
      await until(() => !embedded.running);
      await until(() => embedded.running);
      expect(await pidOf(embedded.socketPath)).not.toBe(pid);
      expect(await get(embedded.socketPath, 'a')).toBe('kept');
    }
    const ends = messages.filter((message) => message.includes('the embedded store ended'));
    expect(ends).toHaveLength(2);
    expect(ends[0]).toContain('killed by SIGKILL');
    expect(ends[0]).toMatch(/"diskFreeBytes":\d+/);
  });

  test('the log shows the last lines of its output, from a file that is kept small', async () => {
    const dataDir = temporaryDirectory();
    mkdirSync(join(dataDir, 'redis'));
    const file = join(dataDir, 'redis', 'redis.log');
    writeFileSync(file, 'earlier\n'.repeat(200_000));
    const { embedded, messages } = embeddedRedis(dataDir);
    await embedded.start();
    expect(readFileSync(file, 'utf8')).not.toContain('earlier');
    await ask(embedded.socketPath, (redis) => redis.shutdown('NOSAVE').catch(() => undefined));
    await until(() => messages.some((message) => message.includes('the embedded store ended')));
    const end = messages.find((message) => message.includes('the embedded store ended')) ?? '';
    expect(end).toMatch(/exit status 0.*"output":"[^"]*User requested shutdown[^"]*ready to exit/);
  });

  test('it is restarted even if it was adopted', async () => {
    const dataDir = temporaryDirectory();
    const killed = await embeddedInOtherProcess(dataDir);
    await set(killed.socketPath, 'a');
    await killed.killGateway();
    const { embedded } = embeddedRedis(dataDir);
    await embedded.start();
    const pid = await pidOf(embedded.socketPath);
    process.kill(pid, 'SIGKILL');
    await until(() => !embedded.running);
    await until(() => embedded.running);
    expect(await pidOf(embedded.socketPath)).not.toBe(pid);
    expect(await get(embedded.socketPath, 'a')).toBe('kept');
  });

  test('it is not restarted while the gateway stops', async () => {
    const { embedded } = embeddedRedis(temporaryDirectory());
    await embedded.start();
    process.kill(await pidOf(embedded.socketPath), 'SIGKILL');
    await until(() => !embedded.running);
    await embedded.stop();
    await expect(pidOf(embedded.socketPath)).rejects.toThrow();
  });
});

describe('one data directory', () => {
  test('has one gateway: the second is refused, and the first continues', async () => {
    const dataDir = temporaryDirectory();
    const first = embeddedRedis(dataDir).embedded;
    await first.start();
    const pid = await pidOf(first.socketPath);
    await expect(embeddedRedis(dataDir).embedded.start()).rejects.toMatchObject({
      code: 'start-failed',
      detail: `another gateway is running on ${dataDir}`,
    });
    expect(await pidOf(first.socketPath)).toBe(pid);
    await first.stop();
    await embeddedRedis(dataDir).embedded.start();
  });

  test('is refused while another process has it, and free once that is killed', async () => {
    const dataDir = temporaryDirectory();
    const other = await embeddedInOtherProcess(dataDir);
    await expect(embeddedRedis(dataDir).embedded.start()).rejects.toMatchObject({
      code: 'start-failed',
    });
    expect(await pidOf(other.socketPath)).toBeGreaterThan(0);
    await other.killGateway();
    await embeddedRedis(dataDir).embedded.start();
  });

  test('is not confused with that of a server with its data elsewhere', async () => {
    const dataDir = temporaryDirectory();
    const elsewhere = temporaryDirectory();
    const { embedded } = embeddedRedis(dataDir);
    mkdirSync(dirname(embedded.socketPath));
    const settings = ['--port', '0', '--dir', elsewhere, '--unixsocket', embedded.socketPath];
    const other = spawn('redis-server', settings, { stdio: 'ignore' });
    onTestFinished(async () => {
      other.kill('SIGKILL');
      if (other.exitCode === null && other.signalCode === null) await once(other, 'exit');
    });
    await until(() => existsSync(embedded.socketPath));
    await expect(embedded.start()).rejects.toThrow(elsewhere);
    expect(await pidOf(embedded.socketPath)).toBe(other.pid);
  });
});

test('a data directory of the longest permitted path has room for the socket', async () => {
  const base = temporaryDirectory();
  const file = join(base, 'gateway.yaml');
  writeFileSync(file, '{}');
  const load = (dataDir: string) => {
    const env = { GATEWAY_DATA_DIR: dataDir };
    return loadConfig({ programDir: '/none', cwd: base, file, env });
  };
  const name = 'x'.repeat(MAX_DATA_DIR_BYTES - Buffer.byteLength(join(base, '/')));
  const { embedded } = embeddedRedis(load(name).dataDir);
  await embedded.start();
  await set(embedded.socketPath, 'a');
  expect(() => load(`${name}x`)).toThrow('the configuration has one fault');
});

test('reports in one line what to install when the program is missing', async () => {
  const dataDir = temporaryDirectory();
  const { embedded } = embeddedRedis(dataDir, '/nowhere');
  await expect(embedded.start()).rejects.toMatchObject({
    code: 'start-failed',
    detail: expect.stringMatching(/^neither redis-server nor valkey-server is installed: .+$/),
  });
  await embeddedRedis(dataDir).embedded.start();
});

test('a power cut while its files are being rewritten leaves no part of them on the disk', async () => {
  const dataDir = temporaryDirectory();
  const { embedded } = embeddedRedis(dataDir);
  await embedded.start();
  const drafts = () =>
    readdirSync(join(dataDir, 'redis')).filter((name) => name.startsWith('temp-rewriteaof'));
  await ask(embedded.socketPath, async (redis) => {
    await redis.mset(Object.fromEntries(Array.from({ length: 1_000 }, (_, key) => [key, 'kept'])));
    await redis.config('SET', 'rdb-key-save-delay', 10_000);
    await redis.bgrewriteaof();
  });
  await until(() => drafts().length > 0);
  const writer = Number(/\d+/.exec(drafts().join())?.[0]);
  for (const pid of [await pidOf(embedded.socketPath), writer]) process.kill(pid, 'SIGKILL');
  await until(() => !embedded.running);
  await until(() => embedded.running);
  expect(await get(embedded.socketPath, '7')).toBe('kept');
  expect(drafts()).toEqual([]);
});
