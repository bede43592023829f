/** What runs before `npm start`: it installs and builds what is missing, and only that. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/prepare.mjs', import.meta.url));
const BEFORE = new Date('2026-01-01T00:00:00Z');
const AFTER = new Date('2026-01-02T00:00:00Z');

/** A complete, built checkout with the script, and programs that record their runs. */
let checkout: string;
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'gateway-prepare-'));
  mkdirSync(join(checkout, 'scripts'));
  copyFileSync(SCRIPT, join(checkout, 'scripts/prepare.mjs'));
  write('scripts/build.mjs', BUILD);
  write('package-lock.json', '{}');
  write('tsconfig.json', '{}');
  write('src/main.ts', '');
  write('src/store/keys.ts', '');
  write('node_modules/.package-lock.json', '{}', AFTER);
  write('dist/.built', '', AFTER);
  for (const path of ['src/store', 'src', 'scripts/prepare.mjs', 'scripts']) {
    utimesSync(join(checkout, path), BEFORE, BEFORE);
  }
  program('redis-server', '');
  program('npm', `echo npm "$@" >> ran; : > node_modules/.package-lock.json`);
});
afterEach(() => {
  rmSync(checkout, { recursive: true });
});

const BUILD = `
import { appendFileSync, mkdirSync } from 'node:fs';
appendFileSync('ran', 'build\\n');
mkdirSync('dist', { recursive: true });
`;

function write(name: string, text: string, time = BEFORE): void {
  const path = join(checkout, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  utimesSync(path, time, time);
}

/** Puts a program on the script's PATH, which has no others. */
function program(name: string, script: string): void {
  write(`bin/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(join(checkout, 'bin', name), 0o755);
}

interface Outcome {
  readonly status: number | null;
  /** The output. */
  readonly said: string;
  /** The programs that it ran, one line each. */
  readonly ran: string[];
}

function prepare(env: Record<string, string> = {}, ...args: string[]): Outcome {
  const path = join(checkout, 'scripts/prepare.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...args], {
    env: { PATH: join(checkout, 'bin'), ...env },
    encoding: 'utf8',
  });
  const notes = join(checkout, 'ran');
  const ran = existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : [];
  rmSync(notes, { force: true });
  return { status, said: stdout + stderr, ran };
}

const NOTHING = { status: 0, said: '', ran: [] };

test('does and prints nothing when nothing is missing', () => {
  expect(prepare()).toEqual(NOTHING);
});

describe('npm packages', () => {
  const isInstall = expect.stringMatching(/^npm ci .*--include=dev/);

  test('are installed once when missing', () => {
    rmSync(join(checkout, 'node_modules/.package-lock.json'));
    expect(prepare().ran).toEqual([isInstall]);
    expect(prepare()).toEqual(NOTHING);
  });

  test('are installed when the lock file is newer', () => {
    write('node_modules/.package-lock.json', '{}', new Date(BEFORE.getTime() - 1000));
    expect(prepare().ran).toEqual([isInstall]);
  });

  test('fail the script when they cannot be installed', () => {
    rmSync(join(checkout, 'node_modules/.package-lock.json'));
    rmSync(join(checkout, 'dist'), { recursive: true });
    program('npm', 'exit 3');
    expect(prepare()).toMatchObject({ status: 1, ran: [], said: expect.stringMatching(/npm ci/) });
  });
});

describe('the build', () => {
  test('runs once when dist is missing', () => {
    rmSync(join(checkout, 'dist'), { recursive: true });
    expect(prepare().ran).toEqual(['build']);
    expect(prepare()).toEqual(NOTHING);
  });

  const changes: [string, () => void][] = [
    ['a source file', () => write('src/store/keys.ts', '', new Date(AFTER.getTime() + 1000))],
    [
      'the lock file',
      () => {
        const later = new Date(AFTER.getTime() + 1000);
        write('package-lock.json', '{}', later);
        write('node_modules/.package-lock.json', '{}', later);
      },
    ],
    ['a removed file', () => rmSync(join(checkout, 'src/store/keys.ts'))],
  ];
  test.each(changes)('runs again after a change to %s', (_, change) => {
    change();
    expect(prepare().ran).toEqual(['build']);
  });

  test('runs again after a failed one', () => {
    rmSync(join(checkout, 'dist'), { recursive: true });
    write('scripts/build.mjs', `${BUILD}process.exit(1);`);
    expect(prepare()).toMatchObject({ status: 1, ran: ['build'] });
    expect(prepare()).toMatchObject({ status: 1, ran: ['build'] });
  });
});

describe('the store', () => {
  beforeEach(() => {
    rmSync(join(checkout, 'bin/redis-server'));
  });

  test('is named in one line when it cannot be installed', () => {
    expect(prepare()).toEqual({
      status: 1,
      said: 'prepare: missing: redis-server (Debian: apt-get install redis-server)\n',
      ran: [],
    });
  });

  test('may be Valkey', () => {
    program('valkey-server', '');
    expect(prepare()).toEqual(NOTHING);
  });

  test('is not required when another is configured, except for the tests', () => {
    const env = { GATEWAY_REDIS_URL: 'redis://store' };
    expect(prepare(env)).toEqual(NOTHING);
    program('mosquitto', '');
    program('mosquitto_pub', '');
    program('openssl', '');
    program('chromium-headless-shell', '');
    program('promtool', '');
    expect(prepare(env, '--for-tests')).toMatchObject({ status: 1 });
  });

  test.skipIf(process.getuid?.() !== 0)('is installed with apt-get by root, once', () => {
    const install = 'for last; do :; done; echo "$0" "$@" $RUNLEVEL $DEBIAN_FRONTEND >> ran';
    program('apt-get', `${install}; test $1 = update || /bin/cp "$0" "\${0%/*}/$last"`);
    const { status, ran } = prepare();
    expect(status).toBe(0);
    expect(ran).toEqual([
      expect.stringMatching(/apt-get update -qq 1 noninteractive$/),
      expect.stringMatching(/apt-get install -y .*--no-install-recommends redis-server 1 nonint/),
    ]);
    expect(prepare()).toEqual(NOTHING);
  });

  test.skipIf(process.getuid?.() !== 0)('fails the script when its installation fails', () => {
    program('apt-get', 'exit 100');
    expect(prepare()).toMatchObject({ status: 1, said: expect.stringContaining('apt-get update') });
  });
});

test('installs the programs for the tests only when preparing them', () => {
  expect(prepare()).toEqual(NOTHING);
  const { status, said } = prepare({}, '--for-tests');
  expect(status).toBe(1);
  expect(said).toContain('mosquitto-clients');
  program('mosquitto', '');
  program('mosquitto_pub', '');
  program('openssl', '');
  program('jq', '');
  program('chromium-headless-shell', '');
  program('promtool', '');
  expect(prepare({}, '--for-tests')).toEqual(NOTHING);
});
