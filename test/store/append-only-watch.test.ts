import { cpSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { repeat } from '../../src/repeat.js';
import { Health } from '../../src/site/health.js';
import { AppendOnlyWatch } from '../../src/store/append-only-watch.js';
import { faultTexts } from '../harness/fault-texts.js';
import {
  embeddedRedis,
  pidOf,
  recordingLog,
  temporaryDirectory,
  until,
} from './embedded-support.js';

const CHECK_EVERY_MS = 50;
/** Enough that checks fall into every step of one. */
const REWRITES = 10;
const FAULT = /missing or cut short/;

/** A running store with ten writes, watched. */
async function watchedStore() {
  const dataDir = temporaryDirectory();
  const { embedded } = embeddedRedis(dataDir);
  await embedded.start();
  const redis = new Redis({ path: embedded.socketPath });
  redis.on('error', () => undefined);
  onTestFinished(() => redis.disconnect());
  for (let index = 0; index < 10; index++) await redis.rpush('list', index);
  const directory = join(dataDir, 'redis');
  const health = new Health();
  const seen: string[] = [];
  health.on('changed', () => seen.push(faultTexts(health.faults()).join()));
  const { log, messages } = recordingLog();
  const watch = new AppendOnlyWatch({ redis, directory, health, log });
  onTestFinished(repeat(() => watch.check(), CHECK_EVERY_MS));
  return { embedded, redis, files: join(directory, 'appendonlydir'), seen, messages };
}

function newest(files: string): string {
  const name = readdirSync(files).find((one) => one.endsWith('.incr.aof'));
  return join(files, name ?? '');
}

test.each([
  ['the directory is removed', (files: string) => rmSync(files, { recursive: true })],
  ['the manifest is removed', (files: string) => rmSync(join(files, 'appendonly.aof.manifest'))],
  ['the newest file is removed', (files: string) => rmSync(newest(files))],
  ['the newest file is cut to nothing', (files: string) => truncateSync(newest(files))],
])('rewrites the append-only files when %s', async (_, damage) => {
  const { embedded, redis, files, seen, messages } = await watchedStore();
  damage(files);
  await redis.rpush('list', 'after the damage');
  await until(() => seen.length === 2);
  expect(seen).toEqual([expect.stringMatching(FAULT), '']);
  expect(messages.filter((message) => FAULT.test(message))).toHaveLength(1);
  await redis.rpush('list', 'after the rewrite');

  const pid = await pidOf(embedded.socketPath);
  process.kill(pid, 'SIGKILL');
  await until(() => !embedded.running);
  await until(() => embedded.running);
  expect(await redis.llen('list')).toBe(12);
});

test('rewrites the files when the store writes to a removed one and a copy is in its place', async () => {
  const { redis, files, seen } = await watchedStore();
  const copy = join(temporaryDirectory(), 'copy');
  cpSync(files, copy, { recursive: true });
  rmSync(files, { recursive: true });
  cpSync(copy, files, { recursive: true });
  await redis.rpush('list', 'into the old file'.repeat(10));
  await until(() => seen.length === 2);
  expect(seen).toEqual([expect.stringMatching(FAULT), '']);
});

test('reports nothing while files are rewritten', async () => {
  const { redis, seen } = await watchedStore();
  const isDone = async () =>
    (await redis.info('persistence')).includes('aof_rewrite_in_progress:0');
  for (let rewrites = 0; rewrites < REWRITES; ) {
    await redis
      .pipeline(Array.from({ length: 200 }, () => ['rpush', 'list', 'x'.repeat(100)]))
      .exec();
    if (!(await isDone())) continue;
    await redis.bgrewriteaof();
    rewrites++;
  }
  expect(seen).toEqual([]);
});
