import { appendFileSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask, embeddedRedis, temporaryDirectory } from './embedded-support.js';

const FILE = 'redis/appendonlydir/appendonly.aof.1.incr.aof';

/** A data directory with a hundred writes that were acknowledged, and nobody running on it. */
async function writtenDirectory(): Promise<string> {
  const dataDir = temporaryDirectory();
  const { embedded } = embeddedRedis(dataDir);
  await embedded.start();
  await ask(embedded.socketPath, async (redis) => {
    for (let i = 0; i < 100; i++) await redis.rpush('list', `entry ${i}`);
  });
  await embedded.stop();
  return dataDir;
}

/** Starts on the directory: how many writes are there, and what the log says. */
async function restart(dataDir: string): Promise<{ length: number; messages: string[] }> {
  const { embedded, messages } = embeddedRedis(dataDir);
  await embedded.start();
  const length = await ask(embedded.socketPath, (redis) => redis.llen('list'));
  return { length, messages };
}

function keptTails(dataDir: string): string[] {
  const directory = join(dataDir, 'redis');
  const names = readdirSync(directory).filter((name) => name.startsWith('damaged-tail-'));
  return names.map((name) => join(directory, name));
}

test.each([
  ['zeros', Buffer.alloc(4096)],
  ['garbage', Buffer.from('\u0007 no command\r\n*3\r\n$5\r\n')],
])(
  'an end of %s is cut off, kept and reported, and nothing acknowledged is lost',
  async (_, tail) => {
    const dataDir = await writtenDirectory();
    const { size } = statSync(join(dataDir, FILE));
    appendFileSync(join(dataDir, FILE), tail);

    const { length, messages } = await restart(dataDir);
    expect(length).toBe(100);
    expect(statSync(join(dataDir, FILE)).size).toBe(size);
    const [kept = ''] = keptTails(dataDir);
    expect(readFileSync(kept)).toEqual(tail);
    const report = messages.filter((message) => message.includes('has been cut off'));
    expect(report).toHaveLength(1);
    expect(report[0]).toContain(`"bytes":${tail.length}`);
  },
);

test('an end that is missing costs what was not complete, and no more', async () => {
  const dataDir = await writtenDirectory();
  truncateSync(join(dataDir, FILE), statSync(join(dataDir, FILE)).size - 3);
  const { length } = await restart(dataDir);
  expect(length).toBe(99);
  expect(keptTails(dataDir)).toEqual([]);
});

test('damage that is more than an end is left alone, and said', async () => {
  const dataDir = await writtenDirectory();
  appendFileSync(join(dataDir, FILE), Buffer.alloc(2 * 1024 * 1024));
  const { size } = statSync(join(dataDir, FILE));
  const { embedded } = embeddedRedis(dataDir);
  await expect(embedded.start()).rejects.toMatchObject({
    code: 'start-failed',
    detail: expect.stringContaining('Bad file format'),
  });
  expect(statSync(join(dataDir, FILE)).size).toBe(size);
});
