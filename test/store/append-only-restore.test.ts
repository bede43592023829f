import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ask, embeddedRedis, temporaryDirectory } from './embedded-support.js';

/** A data directory with `count` writes before the files were rewritten and `count` since. */
async function writtenDirectory(count: number): Promise<string> {
  const dataDir = temporaryDirectory();
  await withStore(dataDir, async (socketPath) => {
    await append(socketPath, count);
    await ask(socketPath, async (redis) => {
      await redis.bgrewriteaof();
      const isUnderWay = async () => /in_progress:1/.test(await redis.info('persistence'));
      await expect.poll(isUnderWay).toBe(false);
    });
    await append(socketPath, count);
  });
  return dataDir;
}

async function withStore<T>(
  dataDir: string,
  work: (socketPath: string, messages: readonly string[]) => Promise<T>,
): Promise<T> {
  const { embedded, messages } = embeddedRedis(dataDir);
  await embedded.start();
  try {
    return await work(embedded.socketPath, messages);
  } finally {
    await embedded.stop();
  }
}

function append(socketPath: string, count: number): Promise<unknown> {
  return ask(socketPath, async (redis) => {
    for (let index = 0; index < count; index++) {
      const sequence = await redis.incr('sequence');
      await redis.xadd('log', `${sequence}-0`, 'a', 'b');
    }
  });
}

function remove(dataDir: string, pattern: RegExp): void {
  const files = join(dataDir, 'redis', 'appendonlydir');
  const names = readdirSync(files).filter((name) => pattern.test(name));
  expect(names).not.toEqual([]);
  for (const name of names) rmSync(join(files, name));
}

test.each([
  ['the manifest', /manifest$/, 6],
  ['the increment', /incr\.aof$/, 3],
  ['the manifest and the increment', /manifest$|incr\.aof$/, 3],
  ['the base', /base/, 0],
  ['the manifest and the base', /manifest$|base/, 0],
])(
  'starts with the files left and keeps new writes when %s is missing',
  async (_, pattern, left) => {
    const dataDir = await writtenDirectory(3);
    remove(dataDir, pattern);
    await withStore(dataDir, async (socketPath, messages) => {
      expect(await ask(socketPath, (redis) => redis.xlen('log'))).toBe(left);
      expect(
        messages.filter((message) => message.includes('append-only files are missing')),
      ).toHaveLength(1);
      await append(socketPath, 2);
    });
    await withStore(dataDir, async (socketPath, messages) => {
      expect(await ask(socketPath, (redis) => redis.xlen('log'))).toBe(left + 2);
      expect(await ask(socketPath, (redis) => redis.get('sequence'))).toBe(`${left + 2}`);
      expect(messages.join()).not.toContain('append-only files are missing');
    });
    const aside = readdirSync(join(dataDir, 'redis')).filter((name) => name.includes('incomplete'));
    expect(aside).toHaveLength(left === 0 ? 1 : 0);
  },
);

test.each([
  ['is empty', ''],
  ['holds zeros', '\0'.repeat(120)],
])('starts with the files left when the manifest %s', async (_, content) => {
  const dataDir = await writtenDirectory(3);
  writeFileSync(join(dataDir, 'redis', 'appendonlydir', 'appendonly.aof.manifest'), content);
  await withStore(dataDir, async (socketPath) => {
    expect(await ask(socketPath, (redis) => redis.xlen('log'))).toBe(6);
  });
});
