import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { cutTornEnd } from '../../../src/store/embedded/append-only-file.js';
import { ask, embeddedRedis, pidOf, temporaryDirectory } from '../embedded-support.js';

const FILE = 'redis/appendonlydir/appendonly.aof.1.incr.aof';

/** The number of writes acknowledged before a file is damaged. */
const WRITES = 10;

/** A data directory with acknowledged writes and no running server. */
async function writtenDirectory(dataDir = temporaryDirectory()): Promise<string> {
  const { embedded } = embeddedRedis(dataDir);
  await embedded.start();
  await ask(embedded.socketPath, async (redis) => {
    for (let i = 0; i < WRITES; i++) await redis.rpush('list', `entry ${i}`);
  });
  await embedded.stop();
  return dataDir;
}

/** Starts on the directory; returns the number of writes and the log. */
async function restart(dataDir: string): Promise<{ length: number; messages: string[] }> {
  const { embedded, messages } = embeddedRedis(dataDir);
  await embedded.start();
  const length = await ask(embedded.socketPath, (redis) => redis.llen('list'));
  return { length, messages };
}

function copiesIn(dataDir: string): string[] {
  const directory = join(dataDir, 'redis');
  const names = readdirSync(directory).filter((name) => name.startsWith('torn-end-'));
  return names.map((name) => join(directory, name));
}

test.each([
  ['zeros', Buffer.alloc(4096)],
  ['2 MiB of zeros', Buffer.alloc(2 * 1024 * 1024)],
  ['garbage', Buffer.from('\u0007 no command\r\n*3\r\n$5\r\n')],
])(
  'cuts off a tail of %s, keeps and reports it, and loses nothing acknowledged',
  async (_, tail) => {
    const dataDir = await writtenDirectory();
    const { size } = statSync(join(dataDir, FILE));
    appendFileSync(join(dataDir, FILE), tail);

    const { length, messages } = await restart(dataDir);
    expect(length).toBe(WRITES);
    expect(statSync(join(dataDir, FILE)).size).toBe(size);
    const [kept = ''] = copiesIn(dataDir);
    expect(readFileSync(kept).equals(tail)).toBe(true);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    const report = messages.filter((message) => message.includes('cut the torn end off'));
    expect(report).toHaveLength(1);
    expect(report[0]).toContain(`"bytes":${tail.length},"copy":"${kept}"`);
  },
);

test('cuts off a torn end on a disk without room for a copy', async ({ skip }) => {
  const disk = temporaryDirectory();
  const mount = ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', disk];
  const isMounted = spawnSync('mount', mount, { stdio: 'ignore' }).status === 0;
  if (!isMounted) return skip('mounting a small file system is not permitted here');
  onTestFinished(() => void spawnSync('umount', ['--lazy', disk]));
  const dataDir = await writtenDirectory(disk);
  appendFileSync(join(dataDir, FILE), Buffer.alloc(1024 * 1024));
  // Takes all remaining space.
  expect(() => writeFileSync(join(disk, 'filler'), Buffer.alloc(4 * 1024 * 1024))).toThrow(
    'ENOSPC',
  );
  const { length, messages } = await restart(dataDir);
  expect(length).toBe(WRITES);
  expect(copiesIn(dataDir)).toEqual([]);
  expect(messages.join()).toMatch(/"bytes":1048576,"msg":"cut the torn end off/);
});

test('loses only the incomplete command when the end is missing', async () => {
  const dataDir = await writtenDirectory();
  truncateSync(join(dataDir, FILE), statSync(join(dataDir, FILE)).size - 3);
  const { length, messages } = await restart(dataDir);
  expect(length).toBe(WRITES - 1);
  expect(copiesIn(dataDir)).toHaveLength(1);
  expect(messages.join()).toContain('cut the torn end off');
});

test('cuts the torn end off the single file of Redis 6', async () => {
  const dataDir = await writtenDirectory();
  const content = readFileSync(join(dataDir, FILE));
  const directory = temporaryDirectory();
  const file = join(directory, 'appendonly.aof');
  writeFileSync(file, Buffer.concat([content, Buffer.from('*3\r\n$5\r\nRPUSH')]));
  expect(await cutTornEnd(directory, undefined)).toMatchObject({ file, bytes: 13 });
  expect(readFileSync(file).equals(content)).toBe(true);
  expect(await cutTornEnd(directory, undefined)).toBeUndefined();
});

test('cuts off a torn transaction of 3 MiB', async () => {
  const dataDir = await writtenDirectory();
  const value = 'x'.repeat(3 * 1024 * 1024);
  const transaction = `*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$${value.length}\r\n${value}`;
  appendFileSync(join(dataDir, FILE), transaction);
  expect((await restart(dataDir)).length).toBe(WRITES);
});

test('leaves damage beyond a torn end unchanged, and reports it', async () => {
  const dataDir = await writtenDirectory();
  const transaction = '*1\r\n$5\r\nMULTI\r\n*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*1\r\n$4\r\nEXEC\r\n';
  appendFileSync(join(dataDir, FILE), `no command\r\n${transaction.repeat(50_000)}`);
  const { size } = statSync(join(dataDir, FILE));
  const { embedded } = embeddedRedis(dataDir);
  await expect(embedded.start()).rejects.toMatchObject({
    code: 'start-failed',
    detail: expect.stringContaining('Bad file format'),
  });
  expect(statSync(join(dataDir, FILE)).size).toBe(size);
});

/** A script that writes several keys, like the recording of an alarm: a transaction in the file. */
const RECORD = `local n = redis.call('INCR', KEYS[1])
  redis.call('XADD', KEYS[2], n .. '-0', 'id', ARGV[1])
  redis.call('HSET', KEYS[3], ARGV[1], n) return n`;

function record(redis: Redis, id: string): Promise<unknown> {
  return redis.eval(RECORD, 3, 'sequence', 'log', 'ids', id);
}

async function recorded(redis: Redis): Promise<string[]> {
  const entries = await redis.xrange('log', '-', '+');
  return entries.map(([, fields]) => fields[1] ?? '');
}

/** Starts a store on the directory and reads its records. */
async function found(dataDir: string) {
  const { embedded } = embeddedRedis(dataDir);
  await embedded.start();
  const { size } = statSync(join(dataDir, FILE));
  const content = await ask(embedded.socketPath, async (redis) => ({
    log: await recorded(redis),
    ids: Object.keys(await redis.hgetall('ids')),
    list: await redis.llen('list'),
  }));
  await embedded.stop();
  return { size, ...content };
}

/** Records two more in a store on the directory, and ends the store. */
async function recordTwo(dataDir: string, byForce: boolean): Promise<void> {
  const { embedded } = embeddedRedis(dataDir);
  await embedded.start();
  await ask(embedded.socketPath, async (redis) => {
    await record(redis, 'after 1');
    await record(redis, 'after 2');
  });
  if (byForce) process.kill(await pidOf(embedded.socketPath), 'SIGKILL');
  await embedded.stop();
}

/** The positions of the commands in the file. */
function commandsIn(content: Buffer): number[] {
  const begun = content.toString('latin1').matchAll(/(?<=\r\n)\*\d+\r\n\$/g);
  return [...begun].map(({ index }) => index);
}

describe('a truncated file', () => {
  /** A file, and the positions where its last transactions end. */
  async function cutFile() {
    const dataDir = await writtenDirectory();
    const { embedded } = embeddedRedis(dataDir);
    await embedded.start();
    const ends: number[] = [];
    const size = () => ends.push(statSync(join(dataDir, FILE)).size);
    await ask(embedded.socketPath, async (redis) => {
      await record(redis, 'a');
      size();
      await redis.multi().rpush('list', 'one').rpush('list', 'two').exec();
      size();
      await record(redis, 'b');
      size();
    });
    await embedded.stop();
    const [first = 0, second = 0, whole = 0] = ends;
    return { dataDir, ends, first, second, whole, content: readFileSync(join(dataDir, FILE)) };
  }

  it('keeps whole transactions, wherever the last one is cut', async () => {
    const { dataDir, first, second, content } = await cutFile();
    // Where the state of a parser changes: around each line of the last transaction.
    const text = content.subarray(first, second).toString('latin1');
    const lines = [...text.matchAll(/\r\n/g)].map(({ index }) => first + index + 2);
    for (const at of [first, first + 1, ...lines.slice(0, 4).map((end) => end - 1), ...lines]) {
      writeFileSync(join(dataDir, FILE), content.subarray(0, at));
      const cut = await cutTornEnd(join(dataDir, 'redis'), undefined);
      const left = at < second ? first : second;
      expect({ at, bytes: cut?.bytes ?? 0 }).toEqual({ at, bytes: at - left });
      expect(statSync(join(dataDir, FILE)).size).toBe(left);
    }
  });

  it('keeps later acknowledged writes when cut between or within commands', async () => {
    const { dataDir, ends, second, whole, content } = await cutFile();
    const expected = (at: number, after: readonly string[]) => {
      const log = ['a', ...(at < whole ? [] : ['b']), ...after];
      return { log, ids: log, list: at < second ? WRITES : WRITES + 2 };
    };
    // For the server it makes no difference which command of a transaction is cut, or where.
    const cuts = [second, whole].flatMap((end) => {
      const lastCommand = commandsIn(content).findLast((at) => at < end) ?? 0;
      return [lastCommand - 5, lastCommand, end - 5, end];
    });
    for (const [index, at] of cuts.entries()) {
      writeFileSync(join(dataDir, FILE), content.subarray(0, at));
      const left = ends.findLast((end) => end <= at);
      expect({ at, ...(await found(dataDir)) }).toEqual({ at, size: left, ...expected(at, []) });
      // By now the file is the same, wherever it was cut between the same two transactions.
      if (!ends.includes(at)) continue;
      await recordTwo(dataDir, index % 2 === 0);
      const after = expected(at, ['after 1', 'after 2']);
      expect({ at, ...(await found(dataDir)) }).toMatchObject({ at, ...after });
    }
  });
});
