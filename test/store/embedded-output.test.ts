import { appendFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { OutputFollower } from '../../src/store/embedded-output.js';
import { recordingLog, temporaryDirectory, until } from './embedded-support.js';

const PREFIX = '17:M 21 Nov 2026 11:13:36.480';
const entrySchema = z.object({ level: z.number(), msg: z.string() });

interface Following {
  readonly file: string;
  readonly follower: OutputFollower;
  readonly entries: () => { level: number; msg: string }[];
}

async function follow(existing = ''): Promise<Following> {
  const file = join(temporaryDirectory(), 'redis.log');
  writeFileSync(file, existing);
  const { log, messages } = recordingLog();
  const follower = new OutputFollower(file, log);
  await follower.start();
  onTestFinished(() => follower.stop());
  return { file, follower, entries: () => messages.map((m) => entrySchema.parse(JSON.parse(m))) };
}

test('logs warnings as warnings, routine lines at debug level, and other lines whole', async () => {
  const { file, follower, entries } = await follow('earlier\n');
  appendFileSync(file, `${PREFIX} # Short write while writing to the AOF file\n`);
  appendFileSync(file, `${PREFIX} # User requested shutdown...\n${PREFIX} * Ready\n\n`);
  appendFileSync(file, `${PREFIX} # WARNING Memory overcommit must be enabled! Without it\n`);
  appendFileSync(file, '*** FATAL CONFIG FILE ERROR ***\n');
  await follower.catchUp();
  expect(entries()).toEqual([
    { level: 40, msg: 'Short write while writing to the AOF file' },
    { level: 20, msg: 'User requested shutdown...' },
    { level: 20, msg: 'Ready' },
    { level: 20, msg: 'WARNING Memory overcommit must be enabled! Without it' },
    { level: 40, msg: '*** FATAL CONFIG FILE ERROR ***' },
  ]);
  expect(follower.lastLines()).toContain('Without it; *** FATAL');
});

test('forwards lines without being asked', async () => {
  const { file, entries } = await follow();
  appendFileSync(file, `${PREFIX} # one\n`);
  await until(() => entries().length === 1);
});

test('forwards a line written in pieces as one', async () => {
  const { file, follower, entries } = await follow();
  const line = Buffer.from(`${PREFIX} # Gerät\n`);
  const inTheMiddleOfA = line.indexOf('ä') + 1;
  appendFileSync(file, line.subarray(0, inTheMiddleOfA));
  await follower.catchUp();
  expect(entries()).toEqual([]);
  appendFileSync(file, line.subarray(inTheMiddleOfA));
  await follower.catchUp();
  expect(entries()).toEqual([{ level: 40, msg: 'Gerät' }]);
});

test('truncates a long file and loses no line', async () => {
  const { file, follower, entries } = await follow();
  appendFileSync(file, `${PREFIX} # ${'x'.repeat(1000)}\n`.repeat(1200));
  await follower.catchUp();
  expect(statSync(file).size).toBe(0);
  appendFileSync(file, `${PREFIX} # after\n`);
  await follower.catchUp();
  expect(entries()).toHaveLength(1201);
  expect(entries().at(-1)?.msg).toBe('after');
});
