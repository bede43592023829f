/** `npm start` in a terminal: signals, what it shows, and the notes of a release. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Lines } from '../harness/wait.js';

/** Starts the gateway as npm start does, in its own process group, as in its own terminal. */
async function start(command: readonly [string, ...string[]]) {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-start-'));
  const [program, ...args] = command;
  const child = spawn(program, args, {
    env: {
      PATH: process.env['PATH'],
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_MQTT_PORT: '0',
      GATEWAY_HTTP_PORT: '0',
      npm_config_ignore_scripts: 'true',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const lines = new Lines();
  lines.read(child.stdout);
  lines.read(child.stderr);
  // The gateway shares the output: it closes when the gateway has ended, whoever else has.
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await closed;
    await rm(dataDir, { recursive: true, force: true });
  });
  const store = join(dataDir, 'redis', 'redis.pid');
  return { child, closed, lines, store };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('not started');
  return pid;
}

const NPM: readonly [string, ...string[]] = ['npm', 'start'];

it.each([
  ['SIGTERM to npm', (pid: number) => process.kill(pid, 'SIGTERM')],
  [
    'SIGTERM to npm twice',
    (pid: number) => {
      process.kill(pid, 'SIGTERM');
      process.kill(pid, 'SIGTERM');
    },
  ],
  ['SIGTERM to all', (pid: number) => process.kill(-pid, 'SIGTERM')],
  ['Ctrl-C', (pid: number) => process.kill(-pid, 'SIGINT')],
  ['SIGKILL to all but the gateway', (pid: number) => process.kill(-pid, 'SIGKILL')],
])('%s stops the gateway and its store, once', async (_, signal) => {
  const { child, closed, lines, store } = await start(NPM);
  await lines.next('"msg":"gateway ready"', 0);
  expect(existsSync(store)).toBe(true);
  signal(pidOf(child));
  await closed;
  expect(lines.all.filter((line) => line.includes('"msg":"gateway stopped"'))).toHaveLength(1);
  expect(existsSync(store)).toBe(false);
});

it('shows people on a terminal where the console and the token are, and the log to nobody', async () => {
  const run = 'node scripts/start.mjs';
  const { child, closed, lines } = await start(['script', '-qec', run, '/dev/null']);
  await lines.next('Ctrl-C stops the gateway', 0);
  const shown = lines.all.join('\n');
  expect(shown).toMatch(/Console +http:\/\/127\.0\.0\.1:\d+\//);
  expect(shown).toMatch(/Sign in with .*in the file .*admin\.token/);
  expect(shown).not.toContain('"level"');
  process.kill(-pidOf(child), 'SIGTERM');
  await closed;
});

it('the notes of a release are what the changelog says about its version', () => {
  const { stdout, status } = spawnSync(process.execPath, ['scripts/release-notes.mjs'], {
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  expect(stdout).toMatch(/^### /m);
  expect(stdout).not.toMatch(/^## /m);
  expect(readFileSync('CHANGELOG.md', 'utf8')).toContain(stdout.trim());
});
